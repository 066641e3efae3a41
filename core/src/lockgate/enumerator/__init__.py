"""The split enumerator of one source: it decides which reader reads which split, from which offset.

The coordinator uses it. `exchange` contains the theory, and `shares` the rule for the number of
splits per reader.
"""
