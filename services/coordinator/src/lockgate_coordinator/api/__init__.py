"""The REST API: paths, bodies and status codes, one file for each subject. `app` puts the routers
together. Reports are answered in front of the routers, by the middleware in `reports`. Theory:
docs/internals/protocol.md. The rules themselves are in the core.
"""
