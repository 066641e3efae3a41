"""The planning of one query run: each batch ends where the joint plan of all its sources ends.
Used by `jvm`, which passes Spark's calls on, and by `align`.
The theory stands in `lockgate.plan.model`; how a plan is made, in `planning.steps`.
"""
