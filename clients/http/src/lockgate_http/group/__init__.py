"""A reader's part in its group: registration, reports, the ceiling, leases, and outages. Clients
use it through a `Membership`.
"""
