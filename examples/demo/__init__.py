"""The demo: native Spark beside lockgate on a real Kafka, and two queries that keep level through a
coordinator.

`python -m examples.demo`, or `make demo`, which sets everything up before.
"""
