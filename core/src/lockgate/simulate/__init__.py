"""Queries in virtual time, for `lockgate simulate` and `lockgate advise`: what each `max_drift`
would cost, computed by the planner and the group's rule. The theory is in
`lockgate.simulate.fleet`.
"""
