"""The view of each plan, and the log lines, progress metrics and gauges made from it. Nothing here
influences a plan. `planning` and `gates` use this package. docs/monitoring.md has the names and
their meaning; `rows_saved` explains the estimate of rows saved.
"""
