"""The workloads by name. All shapes are those of `bench-skew`, or steady."""

from benchmarks.skew.shapes import Shape, shapes, steady

STEADY = {"even": (1.0,) * 8, "density 1:32": (1, 1, 2, 2, 4, 8, 16, 32), "1,000 partitions": (1.0,) * 1_000}
SKEWED = ("late start", "bursts by turns", "9 h outage of one producer", "one slow topic of a join")
FIRST = ("even", "density 1:32", *SKEWED)
"""Those that run unless others are named."""


def workload(name: str, records: int, batches: int) -> Shape:
    """Make a workload. Raises `KeyError` where there is none of the name."""
    if name in STEADY:
        return steady(name, records, STEADY[name], batches)
    return {shape.name: shape for shape in shapes(records, batches)}[name]
