"""The plan of one batch: how far each split is read, so that no row is late. The heart of lockgate.

Used by the Spark client's planner. The theory is in `lockgate.plan.model`, and for users in
`docs/how-it-works.md`.
"""
