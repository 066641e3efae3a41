"""A group under fire in virtual time: two real coordinators over one store, readers and a query,
and a seeded schedule of faults. All that happens is recorded, and `lockgate verify` judges it.
"""
