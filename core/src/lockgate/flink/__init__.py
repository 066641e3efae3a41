"""Flink's event-time classes, with Flink's names, checked against traces of real Flink.
`docs/internals/flink-parity.md` lists their rules, `docs/internals/watermarks.md` explains them.

Splits and their bytes are used by `lockgate.wire` and `lockgate.enumerator`; source, generators and
clocks by the Python reader. Valve, SQL and propagation are for comparison.
"""
