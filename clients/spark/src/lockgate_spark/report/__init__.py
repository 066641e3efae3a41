"""The report of a run in observe mode: what it has lost and what would have kept it, as a
paragraph, a page and JSON. `planning` passes each batch to it. docs/guide/measure.md explains each
figure.
"""
