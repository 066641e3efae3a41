"""The rules of a group of readers, for the coordinator: registration, leases, long waits, and the
ceiling up to which the readers may read. Theory and proof are in `lockgate.group.alignment`.
"""
