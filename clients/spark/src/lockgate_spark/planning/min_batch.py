"""`minOffsetsPerTrigger` and `maxTriggerDelay`: a small batch is put off, for a limited time.

A plan is for all sources together, because one source alone would run ahead. So a plan is put off
while no source has enough for itself; once one has, the others read along. As in Spark's own
source, the delay counts from the last batch, and the first batch is not put off. A plan is put off
only if waiting makes it larger: not where the budget or the group is the limit.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from lockgate.plan.model import Limit, Plan
from lockgate_spark.logs.unread import Key


class Least(NamedTuple):
    """The smallest batch of one source, in offsets, and how long (ms) it is waited for."""

    offsets: int
    delay_ms: int


class MinBatch:
    """Puts off the small batches of one run. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.least: dict[int, Least | None] = {}
        self._last_batch: float | None = None

    def put_off(self, plan: Plan[Key], now: float) -> Plan[Key]:
        """Return the plan, or one that reads nothing while the plan is too small.

        A plan that reads something counts as the beginning of a batch.
        """
        sizes = _sizes(plan)
        if not any(sizes.values()):
            return plan
        if self._last_batch is not None and plan.limit in (Limit.END, Limit.HORIZON):
            waited_ms = (now - self._last_batch) * 1000
            if all(self._is_short(source, size, waited_ms) for source, size in sizes.items() if size):
                return replace(
                    plan,
                    splits={key: split._replace(end=split.position, next=None) for key, split in plan.splits.items()},
                )
        self._last_batch = now
        return plan

    def _is_short(self, source: int, size: int, waited_ms: float) -> bool:
        least = self.least.get(source)
        return least is not None and size < least.offsets and waited_ms < least.delay_ms


def _sizes(plan: Plan[Key]) -> Mapping[int, int]:
    """Offsets by source."""
    sizes: dict[int, int] = {}
    for (source, _), split in plan.splits.items():
        sizes[source] = sizes.get(source, 0) + split.end - split.position
    return sizes
