"""How a group of queries drains a day of backlog: without a group, strict, joint
(`make bench-group`).
"""
