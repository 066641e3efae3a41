"""Seeded scenarios: a query beside its native twin, over topics, producers, operators and restarts
that a seed draws, against the truth.
"""
