"""Tokens with a role and groups, the guard that checks each request, and rate limits. `app` puts
the guard in front of all routes. This package uses neither the store nor the alignment rules.
Theory: docs/operations.md, "Access tokens". `rules` lists the role that each route needs.
"""
