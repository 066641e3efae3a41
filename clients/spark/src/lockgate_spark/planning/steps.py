"""The values that pass from step to step of a plan, and the two steps that are all the core's.

A plan is made in six steps, and each is given what the steps before it have returned:

1. `look`: all requests to Kafka, as one value (`planning.look`).
2. `draft`: how far the query gets alone. Pure.
3. `ceiling`: the exchange with the group (`planning.ceiling`).
4. `cut`: the draft, cut at the ceiling. Pure.
5. Filters, each of which takes a plan and returns one. Pure.
6. Observers, which see the finished plan and change nothing.

Look and draft depend on the positions alone, so both may be made before Spark asks for the plan.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from lockgate import watermark
from lockgate.plan.answers import LogAnswers, Unasked
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Limit, Plan
from lockgate.plan.windows import Windows
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.logs.unread import Key, Unread

T = TypeVar("T")

FRESH_S = 1.0  # a look holds for so long, if no position and no log end has moved
AHEAD_S = 10.0  # of partitions without a backlog a group is told what was true at the look


@dataclass(frozen=True, slots=True)
class Look:
    """What the logs have told one plan.

    `asked_at`: wall clock in seconds before Kafka was asked. `unread`: the positions and the ends.
    `answers`: closed, so that a draft of them asks nobody.
    """

    asked_at: float
    unread: Unread
    bounds: Bounds
    answers: LogAnswers[Key]

    def holds(self, unread: Unread, now: float) -> bool:
        """Return whether another look at `now` (wall clock in seconds), which has found these
        positions and ends, would lead to the same draft. A horizon moves with the clock.
        """
        recent = 0 <= now - self.asked_at < FRESH_S
        return recent and unread.same_as(self.unread) and self.answers.limit is not Limit.HORIZON

    def holds_unseen(self, budgets: Mapping[int, int | None], now: float) -> bool:
        """Return whether a plan may be made of it at `now` (wall clock in seconds) although records
        may have come since. None of them will be late, since the horizon allows for records that
        are still to come, and a batch of these budgets is full without them.
        """
        in_time = 0 <= now - self.asked_at < AHEAD_S
        return in_time and budgets == self.answers.budgets and self.answers.limit is Limit.BUDGET


class CanLook(Protocol):
    """What asks Kafka."""

    def add(self, look: Look, lacking: Unasked) -> None:
        """Ask for what a step behind the look has lacked."""


def answered(step: Callable[[], T], look: Look, looker: CanLook) -> T:
    """Return what a pure step returns. It begins again when it has lacked an answer."""
    while True:
        try:
            return step()
        except Unasked as lacking:
            looker.add(look, lacking)


def draft(look: Look) -> Draft[Key]:
    """Return how far the query gets alone."""
    return Draft(look.answers)


@dataclass(frozen=True, slots=True)
class PlanCeiling:
    """The event time (ms) that a plan must not exceed, and the coordinator's last event. Without a
    group: MAX, and None.
    """

    at: int = watermark.MAX
    event: WatermarkAlignmentEvent | None = None


def cut(draft: Draft[Key], ceiling: PlanCeiling) -> Plan[Key]:
    """Return the plan that keeps to the ceiling."""
    return draft.plan(ceiling.at)


class Least(NamedTuple):
    """The smallest batch of one source, in offsets, and how long (ms) it is waited for."""

    offsets: int
    delay_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBasis:
    """All that a filter may go by.

    Attributes:
        windows: The windows at which batches end, if they do.
        whole_from: Where the first window begins (ms) of which nothing is missing.
        safe_from: By paused split, the first offset that Kafka is not about to delete.
        least: By source, the smallest batch worth reading.
        since_batch_ms: How long ago the last batch was planned; None before the first one.

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
"""Return the plan, or one that reads other offsets instead."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A finished plan, and what it follows from. `cut`: before the filters. `put_off`: whether it
    reads nothing because it is too small yet. `seconds`: how long it took.
    """

    plan: Plan[Key]
    basis: PlanBasis
    cut: Plan[Key]
    put_off: bool
    seconds: float
