"""Tokens with a role and groups, the guard that checks each request, and rates.
`app` puts the guard before everything else. It knows no store, and no rule of alignment.
Theory: docs/operations.md, "Access tokens"; `rules` has the role that each route needs.
"""
