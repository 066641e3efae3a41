"""What lockgate's clients share: calls to the coordinator, and a reader's place in its group.

`lockgate_spark` and `lockgate_reader` are made with it, and users import those. This package knows
neither Spark nor Kafka.
"""
