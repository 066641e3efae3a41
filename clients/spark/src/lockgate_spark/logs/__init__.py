"""Looks up unread records in the logs of a source's splits, for plans. The theory is in `kafka`
(look-ups by time), `crossing` (search by reading) and `highest` (the highest event times).
"""
