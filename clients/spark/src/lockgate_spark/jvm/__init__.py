"""The JVM's side of the client: py4j proxies around Spark's Kafka source, and the internals of
Spark that they need. `align`, `gates`, `progress` and `host` use this room, and Spark itself calls
the proxies of `stream`. docs/internals/architecture.md shows how a plan passes through them.
"""
