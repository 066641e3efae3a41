"""The demo: plain Spark beside lockgate on a real Kafka, and two queries kept aligned through a
coordinator.

`python -m examples.demo`, or `make demo`, which sets everything up before.
"""
