"""Calls to the coordinator and events from it, over HTTP (docs/internals/protocol.md)."""
