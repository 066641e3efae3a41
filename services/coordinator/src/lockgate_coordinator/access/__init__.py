"""Access control: tokens with roles and groups, and the checks on each request.

The guard checks the token of each request, and limits the requests of each token. A service without
tokens is protected from web pages instead (`browsers`). `app` puts one of the two in front of all
routes. `rules` lists the role that each route needs. This package uses neither the store nor the
alignment rules. See docs/operations.md, "Access tokens".
"""
