"""The logs of a source's splits, which answer a plan's questions about unread records. `planning`,
`telemetry` and `jvm` use them through `unread.Unread` and `kafka.KafkaSplitLog`. The theory is in
`kafka` (look-ups by time), `crossing` (search by reading) and `highest` (the highest event times).
"""
