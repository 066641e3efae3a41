"""`minOffsetsPerTrigger` and `maxTriggerDelay`: a small batch is postponed for a limited time.

A plan is postponed while no source has enough records. As soon as one source has enough, the others
are read, too, because one source alone would run ahead. As in Spark's own source,
`maxTriggerDelay` counts from the last batch, and the first batch is not postponed. Nor is a plan
that the budget or the group limits, because waiting does not make it larger.
"""

from dataclasses import replace

from lockgate.plan.model import Limit, Plan
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.steps import PlanBasis


def put_off(plan: Plan[Key], basis: PlanBasis) -> Plan[Key]:
    """Return `plan`, or a plan that reads nothing if the batch is too small and may wait."""
    sizes: dict[int, int] = {}
    for (source, _), split in plan.splits.items():
        sizes[source] = sizes.get(source, 0) + split.end - split.position
    if not any(sizes.values()) or basis.since_batch_ms is None or plan.limit not in (Limit.END, Limit.HORIZON):
        return plan
    if not all(_is_short(basis, source, size) for source, size in sizes.items() if size):
        return plan
    splits = {key: split._replace(end=split.position, next=None) for key, split in plan.splits.items()}
    return replace(plan, splits=splits)


def _is_short(basis: PlanBasis, source: int, size: int) -> bool:
    least, waited_ms = basis.least.get(source), basis.since_batch_ms or 0.0
    return least is not None and size < least.offsets and waited_ms < least.delay_ms
