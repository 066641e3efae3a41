"""The planning of one query's run: each batch ends where the common plan of all its sources ends.
`jvm` uses this room to answer Spark's calls. The theory is in `lockgate.plan.model`, and
`planning.steps` describes how a plan is made.
"""
