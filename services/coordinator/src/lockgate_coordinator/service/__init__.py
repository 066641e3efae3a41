"""Between API and store: turns of a group, waiting for a change, looking into a group. The rules
are core's.
"""
