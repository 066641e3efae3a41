"""Benchmarks: `make bench` lists them, and `make bench-NAME ARGS="…"` runs one.

The five that answer what users ask are here; `more` has those of single parts.
"""
