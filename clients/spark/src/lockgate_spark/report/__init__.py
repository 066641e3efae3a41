"""What a run in mode observe has lost, and what would have kept it: a paragraph, a page, a JSON.
Used by `planning`, which hands it each batch. docs/guide/measure.md says how each figure is made.
"""
