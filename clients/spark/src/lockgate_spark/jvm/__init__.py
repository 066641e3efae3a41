"""The JVM's side of the client: py4j proxies for Spark's Kafka source, and access to the internals
of Spark that they need. `align`, `gates`, `progress` and `host` use this package, and Spark itself
calls the proxies in `stream`. docs/internals/architecture.md shows how a plan passes through them.
"""
