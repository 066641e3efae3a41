"""The JVM's side of the client: py4j proxies for Spark's Kafka source, and access to the internals
of Spark that they need. docs/internals/architecture.md shows how a plan passes through them.
"""
