"""The way of a query into its group. After that, `lockgate_http` keeps its place there, as for all
clients. The public functions and `gates` use this room.
"""
