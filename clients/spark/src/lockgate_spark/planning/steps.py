"""The values that pass from step to step of a plan, and the steps `draft` and `cut`, which only
call `lockgate.plan`.

A plan is made in six steps. Each receives what the steps before it have returned:

1. `look` makes all requests to Kafka, and returns the answers as one value (`planning.look`).
2. `draft` computes how far the query would read without its group. It is pure.
3. `ceiling` reports to the group, and returns its ceiling (`planning.ceiling`).
4. `cut` turns the draft into a plan that reads no record above the ceiling. It is pure.
5. Filters take a plan and return one. They are pure.
6. Observers see the finished plan, and change nothing.

The look and the draft need only the offsets at which the batch begins, so both may be made before
Spark asks for the plan.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from lockgate import watermark
from lockgate.plan.answers import LogAnswers, Unasked
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Limit, Plan
from lockgate.plan.windows import Windows
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.logs.unread import Key, Unread

T = TypeVar("T")

FRESH_S = 1.0  # a look holds for this long if no position and no log end has moved
AHEAD_S = 10.0  # a report to the group on partitions without a backlog is at most this old


@dataclass(frozen=True, slots=True)
class Look:
    """Kafka's answers about the unread records, for one plan.

    Attributes:
        asked_at: Time (s since 1970) before Kafka was asked.
        unread: The offsets between which each split is unread.
        bounds: The bounds of the plan, such as `max_drift`.
        answers: Kafka's answers. A step that needs another answer raises `Unasked` and makes no
            request itself.
    """

    asked_at: float
    unread: Unread
    bounds: Bounds
    answers: LogAnswers[Key]

    def holds(self, unread: Unread, now: float) -> bool:
        """Return whether this look still holds: a new one would lead to the same draft. `unread`
        has the new positions and ends, and `now` is the wall-clock time in seconds.

        A look holds for a second (`FRESH_S`) if no position and no end has moved. It does not hold
        if the clock limits its draft (`Limit.HORIZON`), because that limit rises with the clock.
        """
        recent = 0 <= now - self.asked_at < FRESH_S
        return recent and unread.same_as(self.unread) and self.answers.limit is not Limit.HORIZON

    def holds_unseen(self, budgets: Mapping[int, int | None], now: float) -> bool:
        """Return whether a plan may still be made from this look at `now` (wall clock in seconds),
        although records may have come since.

        This is true for ten seconds (`AHEAD_S`) if a budget limits the batch and the `budgets` of
        the sources have not changed. The batch is then full without the new records. These will not
        be late, because the plan allows for records that are still to come.
        """
        in_time = 0 <= now - self.asked_at < AHEAD_S
        return in_time and budgets == self.answers.budgets and self.answers.limit is Limit.BUDGET


def answered(step: Callable[[], T], look: Look, add: Callable[[Look, Unasked], None]) -> T:
    """Return the result of a pure step. If the step needs an answer that `look` does not have, ask
    Kafka for the answer by `add`, which adds it to `look`, and begin the step again.
    """
    while True:
        try:
            return step()
        except Unasked as lacking:
            add(look, lacking)


def draft(look: Look) -> Draft[Key]:
    """Return the draft of a look: how far the query would read without its group."""
    return Draft(look.answers)


@dataclass(frozen=True, slots=True)
class PlanCeiling:
    """The group's ceiling for one plan. `at` is the event time (ms) that the plan must not exceed,
    and `event` is the coordinator's last event. Without a group, they are MAX and None.
    """

    at: int = watermark.MAX
    event: WatermarkAlignmentEvent | None = None


def cut(draft: Draft[Key], ceiling: PlanCeiling) -> Plan[Key]:
    """Return the plan that `draft` gives if no record above `ceiling` may be read."""
    return draft.plan(ceiling.at)


class Least(NamedTuple):
    """The smallest batch of one source that is worth reading: `offsets` is its size, and `delay_ms`
    is the longest wait for it.
    """

    offsets: int
    delay_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBasis:
    """The values that a filter may use.

    Attributes:
        windows: The windows with which batches are aligned; None if batches are not window-aligned.
        whole_from: Start (ms) of the first window without missing records; MIN if the batch starts
            with this window.
        safe_from: By split, the first offset whose record Kafka is not about to delete.
        least: By source, the smallest batch worth reading.
        since_batch_ms: Time since the last batch was planned; None before the first one.
    """

    look: Look
    draft: Draft[Key]
    ceiling: PlanCeiling
    windows: Windows | None = None
    whole_from: int = watermark.MIN
    safe_from: Mapping[Key, int] = field(default_factory=dict)
    least: Mapping[int, Least | None] = field(default_factory=dict)
    since_batch_ms: float | None = None


Filter = Callable[[Plan[Key], PlanBasis], Plan[Key]]
"""A function that returns the plan, or one that reads other offsets instead."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A finished plan, and the values from which it was made.

    Attributes:
        plan: The plan.
        basis: The values that the filters used.
        cut: The plan before the filters.
        put_off: Whether the plan reads nothing because the batch is still too small.
        seconds: Time that it took to make the plan.
    """

    plan: Plan[Key]
    basis: PlanBasis
    cut: Plan[Key]
    put_off: bool
    seconds: float
