"""A Python port of Flink's event-time classes, with Flink's names, checked against traces of Flink.

`docs/internals/flink-parity.md` lists the rules of these classes, and
`docs/internals/watermarks.md` explains them.

`lockgate.wire`, `lockgate.enumerator` and the Python reader use the Kafka splits and their
serializer. The Python reader also uses strategies, generators and checkpoints. All other classes
exist only for the comparison with Flink.
"""
