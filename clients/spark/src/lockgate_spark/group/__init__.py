"""The checks and calls with which a query joins its group. `lockgate_http` then maintains the
membership, as for all clients.
"""
