"""An in-process model of Flink's operators, their event-time timers and the channels between them.

Tests and an example use it to show how watermarks get from sources to operators downstream. The
theory is in `lockgate.flink.propagation.network`.
"""
