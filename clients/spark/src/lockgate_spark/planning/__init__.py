"""The planning of one query's run: one plan for all its sources decides where each batch ends.
`jvm` answers Spark's calls with these plans. The theory is in `lockgate.plan.model`, and
`planning.steps` describes how a plan is made.
"""
