"""Queries in virtual time: the effects of a range of `max_drift`, computed by the planner and the
group's rule themselves.

Used by `lockgate simulate` and `lockgate advise`. The theory is in `lockgate.simulate.fleet`, and
for users in `docs/guide/tuning.md`.
"""
