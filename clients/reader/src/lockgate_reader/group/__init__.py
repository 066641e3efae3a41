"""The place (`lockgate_reader.place`) of a reader in an alignment group: `joined` calls the
coordinator. The rules are in `standing` (what a reader reports), `holdings` (which splits it should
read) and `fencing` (until when it may read them). docs/internals/protocol.md has the protocol.
"""
