"""The messages between readers and the coordinator: events, and their strictly checked JSON.

Used by the coordinator's API and store, and by the clients. The contract is
`docs/internals/protocol.md`.
"""
