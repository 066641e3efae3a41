"""A query's part in its group: calls to the coordinator and news from it, leases, and outages.
Used by `joining`, `progress`, and by `planning`, `gates` and `telemetry`, by way of a `Membership`.
The wire stands in docs/protocol.md; the ceiling's rule, in `ceiling`; outages, in `outage`.
"""
