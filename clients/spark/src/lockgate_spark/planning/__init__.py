"""Plans the batches of one query's run. One plan for all its sources decides where each batch ends,
and `jvm` returns these ends to Spark. The theory is in `lockgate.plan.model`, and `planning.steps`
describes how a plan is made.
"""
