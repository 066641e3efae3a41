"""The heart: splits, what is fetched of them, their watermarks, and which record goes out next.

`consumer` uses it. It obeys `lockgate.flink.source.operator`, whose reader it is, and knows Kafka
only by the room `kafka`. The theory is in `reading.reading`.
"""
