"""The operator that runs a source, with its events, its reader, and the pauses by which alignment
slows it down. It is checked against traces of Flink. The theory is in
`lockgate.flink.source.operator`.
"""
