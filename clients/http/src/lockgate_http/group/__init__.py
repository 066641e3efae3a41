"""A reader's part in its group: registration, reports, the ceiling, leases, and outages.
Used by the clients, by way of a `Membership`. The ceiling's rule is in `ceiling`; outages, in
`outage`.
"""
