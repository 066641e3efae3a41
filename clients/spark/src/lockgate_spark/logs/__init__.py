"""The logs of a source's splits: the answers to a plan's questions about their unread records.
Used by `planning`, `telemetry` and `jvm`, by way of `unread.Unread` and `kafka.KafkaSplitLog`.
The theory is in `kafka` (look-ups), `crossing` (search by reading) and `highest` (horizons).
"""
