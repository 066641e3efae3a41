"""The query of a run, the values that pass from step to step of its plans, and `put_off`, the last
filter.
`docs/internals/architecture.md` lists all steps.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeVar

from lockgate import watermark
from lockgate.plan.answers import LogAnswers, Unasked
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Limit, Plan
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment
from lockgate_spark.logs.unread import Key, Least, Source, Unread
from lockgate_spark.spark_run import Checkpointed

T = TypeVar("T")

FRESH_S = 1.0  # a look holds for this long if no position and no log end has moved
AHEAD_S = 10.0  # a report to the group on partitions without a backlog is at most this old


@dataclass(frozen=True, slots=True)
class Query:
    """The settings, the run and the sources of a query. Spark opens the sources one by one.
    `membership` is None without a group, and in observe mode.
    """

    alignment: Alignment
    run: Checkpointed
    membership: Membership | None
    sources: Mapping[int, Source]

    @property
    def observes(self) -> bool:
        """Whether plans are made, but not applied."""
        return self.alignment.mode == "observe"


@dataclass(frozen=True, slots=True)
class Look:
    """Kafka's answers about the unread records, for one plan. If a step needs another answer, it
    raises `Unasked` and makes no request itself.
    """

    asked_at: float  # the time (s since 1970) before Kafka was asked
    unread: Unread
    bounds: Bounds
    answers: LogAnswers[Key]

    def holds(self, unread: Unread, now: float) -> bool:
        """Return whether a new look at `now` (s since 1970) would lead to the same draft: no
        position or end in `unread` has moved, for a second at most (`FRESH_S`), and the limit is
        not the horizon, which rises with the clock.
        """
        recent = 0 <= now - self.asked_at < FRESH_S
        same = (unread.positions, unread.ends) == (self.unread.positions, self.unread.ends)
        return recent and same and self.answers.limit is not Limit.HORIZON

    def holds_unseen(self, now: float) -> bool:
        """Return whether a plan may still be made from this look at `now` (s since 1970), although
        records may have come since: for ten seconds (`AHEAD_S`), if a budget limits the batch. The
        batch is then full without the new records, which will not be late, because the plan allows
        for records that are still to come.
        """
        return 0 <= now - self.asked_at < AHEAD_S and self.answers.limit is Limit.BUDGET


def answered(step: Callable[[], T], look: Look) -> T:
    """Return the result of a pure step. If the step needs an answer that `look` lacks, ask Kafka,
    add the answer to `look`, and begin the step again.
    """
    while True:
        try:
            return step()
        except Unasked as lacking:
            look.answers.add(lacking, look.unread, look.unread.confirm)


@dataclass(frozen=True, slots=True)
class Planned:
    """A finished plan, and the values from which it was made."""

    plan: Plan[Key]
    look: Look
    draft: Draft[Key]
    ceiling: int  # the event time (ms) that the group allows; MAX without a group
    cut: Plan[Key]  # before the filters
    put_off: bool  # whether the plan reads nothing because the batch is still too small
    seconds: float  # how long it took to make the plan

    @property
    def first_paused(self) -> tuple[Key, int] | None:
        """The paused split, if any, with the oldest known next record, and its event time (ms)."""
        splits = self.plan.splits
        heads = [(key, head.event_time) for key in self.plan.paused if (head := splits[key].next) is not None]
        first = min(heads, key=itemgetter(1), default=None)
        return None if first is None or first[1] == watermark.MAX else first


def put_off(plan: Plan[Key], least: Mapping[int, Least | None], since_batch_ms: float | None) -> Plan[Key]:
    """Return `plan`, or a plan that reads nothing if the batch is below `minOffsetsPerTrigger`, by
    the smallest batch of each source, `least`. `since_batch_ms` is the time since the last batch
    was planned; None before the first one.

    A plan is postponed while no source has enough records. As soon as one source has enough, the
    others are read, too, because one source alone would run ahead. As in Spark's own source,
    `maxTriggerDelay` counts from the last batch, and the first batch is not postponed. Nor is a
    plan that the budget or the group limits, because waiting does not make it larger.
    """
    sizes = Counter[int]()
    for (source, _), split in plan.splits.items():
        sizes[source] += split.end - split.position
    if not any(sizes.values()) or since_batch_ms is None or plan.limit not in (Limit.END, Limit.HORIZON):
        return plan
    for source, size in sizes.items():
        own = least.get(source)
        if size and (own is None or size >= own.offsets or since_batch_ms >= own.delay_ms):
            return plan
    splits = {key: split._replace(end=split.position, next=None) for key, split in plan.splits.items()}
    return replace(plan, splits=splits)
