"""`minOffsetsPerTrigger` and `maxTriggerDelay`: a batch that would be small is put off, and for how
long at most.

A plan is for all sources together, or they would come apart. So it is put off while no source has
enough for itself; what the others have comes along then. The delay counts from the last batch, and
the first batch waits for nothing, both as in Spark's own source. Waiting has to bring more: where
the budget or the group is what limits, nothing is put off.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from lockgate.plan.model import Limit, Plan
from lockgate_spark.logs.unread import Key


class Least(NamedTuple):
    """What a batch of one source should hold, in offsets, and how long that is waited for, in
    ms.
    """

    offsets: int
    delay_ms: int


class MinBatch:
    """When the last batch of a run was begun. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.least: dict[int, Least | None] = {}
        self._last_batch: float | None = None

    def put_off(self, plan: Plan[Key], now: float) -> Plan[Key]:
        """The plan, or one that reads nothing where it is too small yet. One that reads something
        is taken for begun.
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
