"""Connects a reader to an alignment group. docs/internals/protocol.md describes the protocol."""
