"""Benchmarks of single parts: `make bench-NAME` runs one."""
