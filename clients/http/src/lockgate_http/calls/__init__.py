"""Calls to the coordinator and news from it, over HTTP. Every call has a time limit. Used by
`group`, and by a client's own calls. docs/internals/protocol.md describes the protocol.
"""
