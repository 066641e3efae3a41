"""Shapes of skew on which plain Spark loses rows, read without and with alignment."""
