"""The view of each plan, and its way to log lines, Spark's progress and gauges. Decides nothing.
Used by `planning` and `gates`. The names and their meaning stand in docs/monitoring.md; the
estimate of rows saved, in `rows_saved`.
"""
