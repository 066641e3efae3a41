"""The page for browsers at `/`, which consists of static files. The page reads everything that it
shows from the public API, with its user's token. Theory: docs/monitoring.md.
"""
