"""Spark's and Kafka's JVM side: the py4j proxies and the few internals of Spark that they lean
on.
"""
