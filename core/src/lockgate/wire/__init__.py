"""The messages between readers and the coordinator: events, and their strictly checked JSON.

The coordinator's API and store use them, and so do the clients. The contract is
`docs/internals/protocol.md`.
"""
