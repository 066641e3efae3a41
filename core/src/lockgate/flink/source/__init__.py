"""The operator that runs a source: its events, its reader, and how alignment holds it back. The
Python reader runs it. The theory is in `lockgate.flink.source.operator`.
"""
