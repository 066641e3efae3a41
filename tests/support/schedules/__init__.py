"""Seeded schedules: readers of one group through kills, stops, joins, leaves, new partitions and
restarts of the coordinator and its Redis; then what they have handed out is judged.
"""
