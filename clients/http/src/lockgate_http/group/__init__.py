"""The membership of readers in a group: registration, reports, the ceiling, leases, and outages.
Clients use this package through a `Membership`.
"""
