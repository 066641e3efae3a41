"""The REST API: paths, bodies and status codes, one file for each subject.
`app` puts the routers together; `reports` answers all reports before them.
Theory: docs/internals/protocol.md. The rules themselves are in the core.
"""
