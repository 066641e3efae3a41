"""A reader's place in an alignment group. docs/internals/protocol.md describes the protocol."""
