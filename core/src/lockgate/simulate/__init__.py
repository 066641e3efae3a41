"""A simulation of queries in virtual time, for `lockgate simulate` and `lockgate advise`. It uses
the real planner and the group's rule to show the cost of each `max_drift`. The theory is in
`lockgate.simulate.fleet`.
"""
