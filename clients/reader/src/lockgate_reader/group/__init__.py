"""The place of a reader in an alignment group. docs/internals/protocol.md has the protocol."""
