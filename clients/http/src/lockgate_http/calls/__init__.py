"""Calls to the coordinator and news from it, over HTTP. Each call ends in time.
Used by `group`, and by a client's own calls. The wire stands in docs/internals/protocol.md.
"""
