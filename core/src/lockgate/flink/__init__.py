"""Flink's event-time classes, with Flink's names, checked against traces of real Flink.
`docs/internals/flink-parity.md` lists their rules, and `docs/internals/watermarks.md` explains
them.

`lockgate.wire`, `lockgate.enumerator` and the Python reader use the splits and their bytes. The
Python reader also uses strategies and generators. The other classes are for comparison with Flink.
"""
