"""Flink's event-time classes, checked against traces of real Flink.
`docs/internals/flink-parity.md` lists what each of them does.

Splits and their bytes are used by `lockgate.wire` and `lockgate.enumerator`; source, generators and
clocks by the Python reader. Valve, SQL and propagation are for comparison: the tests and an example
use them. The class names are Flink's own, so a few of them also occur in `lockgate.wire`.
"""
