"""A model of the watermarks in Flink's SQL: the watermark strategies, the operator that assigns
watermarks in a table plan, and the one that thins them out for mini-batches. The theory is in
`lockgate.flink.sql.strategies`.
"""
