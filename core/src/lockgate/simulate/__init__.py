"""A simulation of queries in virtual time, for `lockgate simulate` and `lockgate advise`. It shows
the cost of each `max_drift` by running the code that plans real batches and evaluates real groups.
The theory is in `lockgate.simulate.fleet`.
"""
