"""A simulation of queries in virtual time, for `lockgate simulate` and `lockgate advise`. It shows
what each `max_drift` would cost, by the real planner and the group's rule. The theory is in
`lockgate.simulate.fleet`.
"""
