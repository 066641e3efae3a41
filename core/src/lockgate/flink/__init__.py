"""Flink's event-time classes, checked against traces of real Flink. `docs/flink-parity.md` lists
what each of them does.

Used by the tests, the conformance replay and an example; no package that ships imports this room
yet. The class names are Flink's own, so a few of them also occur in `lockgate.wire`.
"""
