"""The operator that runs a source, its events and its reader, and the pauses by which alignment
slows it down. The Python reader runs it. The theory is in `lockgate.flink.source.operator`.
"""
