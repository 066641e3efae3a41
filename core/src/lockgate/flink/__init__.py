"""Flink's event-time classes, checked against traces of real Flink.
`docs/internals/flink-parity.md` lists what each of them does.

Its splits and their bytes are used by `lockgate.wire` and `lockgate.enumerator`. All of it is used
by readers that are not Spark, the tests, the conformance replay and an example. The class names are
Flink's own, so a few of them also occur in `lockgate.wire`.
"""
