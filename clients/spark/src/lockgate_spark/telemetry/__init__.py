"""The view of each plan, and the log lines, progress metrics and gauges made from it, which
docs/monitoring.md explains. Nothing here influences a plan.
"""
