"""The REST API: paths, bodies and status codes, one file for each subject.
`app` puts the routers together; `lean_reports` answers most reports before them.
Theory: docs/internals/protocol.md. No rule is made here.
"""
