"""The parts that lockgate's clients share: calls to the coordinator, and a reader's place in its
group.

`lockgate_spark` and `lockgate_reader` are built on this package, and users import those. It depends
on neither Spark nor Kafka.
"""
