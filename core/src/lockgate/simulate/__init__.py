"""A simulation of queries in virtual time, for `lockgate simulate` and `lockgate advise`. It shows
the cost of each `max_drift` by running the real planner and the real rule of the group. The theory
is in `lockgate.simulate.fleet`.
"""
