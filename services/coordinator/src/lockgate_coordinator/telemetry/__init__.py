"""The operator's view of a running coordinator: log lines about changes, metrics and traces. `app`
and the API use it; the rules do not depend on it.
Theory: docs/monitoring.md.
"""
