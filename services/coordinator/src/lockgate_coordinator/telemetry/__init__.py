"""The operator's view of a running coordinator: log lines about changes, metrics and traces.

`app` and the API use this package. The alignment rules do not depend on it. See
docs/monitoring.md.
"""
