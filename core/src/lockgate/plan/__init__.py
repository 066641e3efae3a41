"""The planner of batches, which decides how far each split is read so that no row is late.

The Spark client and the simulation plan with this package. `lockgate.plan.model` has the theory,
and `docs/how-it-works.md` explains it to users.
"""
