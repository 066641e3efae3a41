"""The report of a run in observe mode, as a paragraph, an HTML page and JSON. It says how many rows
the run has lost, and which options would have kept them. `planning` passes each batch to it.
docs/guide/measure.md explains each figure.
"""
