"""The report of a run in observe mode, as a paragraph, an HTML page and JSON.
docs/guide/measure.md explains each figure.
"""
