"""The rules of a group of readers: registration, leases, long waits, and the ceiling up to which
its readers may read.

Used by the coordinator. Theory and proof are in `lockgate.group.alignment`, and for users in
`docs/how-it-works.md`.
"""
