"""The operator that runs a source, its events and its reader, and the pauses by which alignment
slows it down. The traces of Flink run it. The theory is in `lockgate.flink.source.operator`.
"""
