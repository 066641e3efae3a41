"""The operator that runs a source: its events, its reader, and how alignment holds it back.

Used by `lockgate.flink.propagation` and the tests. The theory is in
`lockgate.flink.source.operator`.
"""
