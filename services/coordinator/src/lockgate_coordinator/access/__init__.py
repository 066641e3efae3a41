"""Access control: tokens with a role and groups, the guard that checks the token of each request,
limits for each token, and the protection of a service without tokens from web pages (`browsers`).
`app` puts the guard, or that protection if there are no tokens, in front of all routes. `rules`
lists the role that each route needs. This package uses neither the store nor the alignment rules.
Theory: docs/operations.md, "Access tokens".
"""
