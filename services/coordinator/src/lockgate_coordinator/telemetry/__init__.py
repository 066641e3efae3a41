"""The operator's view of a running coordinator: logs of each change of state, metrics, traces.
`app` and the API use it; the rules do not depend on it.
Theory: docs/monitoring.md.
"""
