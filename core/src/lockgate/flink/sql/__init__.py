"""Watermarks as SQL has them: its strategies, and the two operators that assign them in a plan.
The theory is in `lockgate.flink.sql.strategies`.
"""
