"""The messages between readers and the coordinator: events, their JSON, and the strict reading of
it.

Used by the coordinator's API and store, and by the client's group room. The contract is
`docs/internals/protocol.md`.
"""
