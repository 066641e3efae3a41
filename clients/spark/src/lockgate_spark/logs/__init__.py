"""The logs of a source's splits, which answer a plan's questions about unread records. The theory
is in `kafka` (look-ups by time), `crossing` (search by reading) and `highest` (the highest event
times).
"""
