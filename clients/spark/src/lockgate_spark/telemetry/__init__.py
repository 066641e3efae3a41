"""The view of each plan, and the log lines, progress metrics and gauges made from it. Nothing here
influences a plan. `planning` and `gates` use this package. docs/monitoring.md explains each metric
and gauge, and `rows_saved` the estimate of rows saved.
"""
