"""A query's way into its group. Its place there is kept by `lockgate_http`, as for all clients.
Used by the ways in and by `gates`.
"""
