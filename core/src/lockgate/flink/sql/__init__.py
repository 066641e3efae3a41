"""Watermarks as SQL has them: its strategies, their text form, and the two operators that assign
watermarks in a table plan.

Used by `lockgate.flink.propagation`, the tests and the conformance replay. The theory is in
`lockgate.flink.sql.strategies`.
"""
