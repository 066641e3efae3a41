"""How watermarks travel: operators with one or several inputs, their timers, and the network
between them.

Used by the tests and an example. The theory is in `lockgate.flink.propagation.network`.
"""
