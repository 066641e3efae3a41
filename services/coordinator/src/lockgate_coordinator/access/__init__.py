"""Tokens with a role and groups, the guard that checks each request, and rate limits.
`app` puts the guard before everything else. It uses neither the store nor the alignment rules.
Theory: docs/operations.md, "Access tokens"; `rules` has the role that each route needs.
"""
