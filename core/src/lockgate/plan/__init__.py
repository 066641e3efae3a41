"""The plan of one batch, which decides how far each split is read so that no row is late.

The Spark client's planner makes such plans. The theory is in `lockgate.plan.model`, and for users
in `docs/how-it-works.md`.
"""
