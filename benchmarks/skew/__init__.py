"""Shapes of skew that native Spark loses rows on, read natively and aligned (`make bench-skew`)."""
