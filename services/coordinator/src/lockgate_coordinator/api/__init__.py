"""The REST API: paths, bodies and status codes, with one module for each subject.

`app` puts the routers together. Reports are answered before they reach the routers, by the
middleware in `reports`. The rules are in the core. See docs/internals/protocol.md.
"""
