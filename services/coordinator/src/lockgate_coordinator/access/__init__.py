"""Access control: tokens with a role and groups, the guard that checks the token of each request,
limits for each token, and the protection of a service without tokens (`browsers`). `app` puts it
in front of all routes. This package uses neither the store nor the alignment rules. `rules` lists
the role that each route needs. Theory: docs/operations.md, "Access tokens".
"""
