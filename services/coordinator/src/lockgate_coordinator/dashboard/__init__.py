"""The dashboard, a page of static files at `/`. It gets all data from the public API, with the
token of its user. See docs/monitoring.md.
"""
