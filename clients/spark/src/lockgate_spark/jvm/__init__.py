"""Spark's side in the JVM: py4j proxies around Spark's Kafka source, and the internals they need.
Used by `align`, `gates` and `progress`; Spark itself calls the proxies of `stream`.
The way of a plan through them is in docs/internals/architecture.md; which call decides, in
`jvm.stream`.
"""
