"""Calls to the coordinator and news from it, over HTTP (docs/internals/protocol.md)."""
