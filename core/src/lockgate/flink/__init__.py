"""Flink's event-time classes, with Flink's names, checked against traces of real Flink.
`docs/internals/flink-parity.md` lists their rules, `docs/internals/watermarks.md` explains them.

Splits and their bytes are used by `lockgate.wire`, `lockgate.enumerator` and the Python reader,
which also uses strategies and generators. The other classes are for comparison.
"""
