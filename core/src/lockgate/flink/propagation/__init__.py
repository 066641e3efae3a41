"""How watermarks travel: operators, their timers, and the network between them, for tests and an
example. The theory is in `lockgate.flink.propagation.network`.
"""
