"""The REST API: paths, bodies and status codes, one file for each subject.
`app` puts the routers together; `fast.lean_reports` answers most reports before them.
Theory: docs/internals/protocol.md. No rule is made here.
"""
