"""The page for browsers at `/`: files that are served, and nothing else. The page asks the public
API for all that it shows, with the token of whoever looks. Theory: docs/monitoring.md.
"""
