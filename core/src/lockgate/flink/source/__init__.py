"""A model of the operator that runs a source in Flink, with its events, its reader and alignment.
It is checked against traces of Flink. The theory is in `lockgate.flink.source.operator`.
"""
