"""A model of Flink's operators, their event-time timers and the channels between them, which runs
in one process. Tests and an example use the model to show how watermarks get from sources to
operators downstream. The theory is in `lockgate.flink.propagation.network`.
"""
