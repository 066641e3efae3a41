"""The protocol of a group, and the hand-over of splits, in TLA+. `python -m specification` checks
them with TLC; docs/internals/specification.md has the theory.
"""
