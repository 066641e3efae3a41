"""The rules of a group of readers: registration, leases, long waits, and the ceiling that its
readers keep to.

Used by the coordinator. Theory and proof are in `lockgate.group.alignment`, and for users in
`docs/how-it-works.md`.
"""
