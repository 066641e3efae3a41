"""What readers and the coordinator tell each other: events, their JSON, and the strict reading of
it.

Used by the coordinator's API and store, and by the client's group room. The contract stands in
`docs/protocol.md`.
"""
