"""A real Kafka, Redis, coordinator and Spark on one machine, for the demo, the tests and the
benchmarks.
"""
