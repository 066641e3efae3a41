"""Flink's event-time classes, checked against traces of real Flink; what each does is listed in
`docs/flink-parity.md`.

No package that ships imports this room yet. Class names here are Flink's own, so some also occur in
`lockgate.wire`.
"""
