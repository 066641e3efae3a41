"""Watermarks in SQL: the strategies, and the two operators that assign watermarks in a plan. The
theory is in `lockgate.flink.sql.strategies`.
"""
