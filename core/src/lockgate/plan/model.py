"""The planner: how far each split of a query may be read in its next batch. The heart of lockgate.

**The rule.** For the splits `s` of one query, each with a position, an end at the broker and a
budget of offsets per source, choose the greatest event time `T ≤ C` that stays within every budget,
`cost(T) ≤ B < cost(T + 1 ms)`, and read each split up to its first record above `T`. So all splits
are aligned in event time at every batch boundary. If one timestamp alone exceeds the budget,
several batches read it, so the query makes progress whenever the ceiling allows it.

**Horizon.** A split's log *now* does not hold everything that will come, because a live producer
may lag. With `t` the wall clock before the broker was asked and `disorder` the out-of-orderness
inside a split,

    h(s) = max(highest event time below its end − disorder, t − lag(s)) − 1

is the watermark of a split that is read to its end: no record at or below it is still to come, if
the records of a split are at most `disorder` out of order and are appended at most `lag(s)` after
their event time: `idle_timeout`, or what the split's own producer has shown
(`lockgate.plan.producer_lag`). So

    C = min(the group's max desired watermark, max_drift + min over all s of h(s))

A backlog itself bounds nothing (the same batch reads it up to `T`), but its *end* does: a slow live
split holds back the others, whenever it is polled. In a replay `t − lag(s)` is far above
everything, so finished and empty splits hold back no other split.

**Why no row is late.** All rows of a batch have event times ≤ T, so Spark's watermark is ≤ T −
delay. A row that is read later lies above T − disorder (its split stopped at a record above T) or
above h(s) ≥ T − max_drift (its split was read to the end). Both are above Spark's watermark if
`max_drift ≤ delay`: `disorder` is below `max_drift` (`Bounds` checks it) and part of h(s), and
`lag(s)` does not enter, since an idle split goes on bounding C by the clock.
`tests/core/plan/test_plan_model.py` runs this against arbitrary live feeds, and shows that rows are
lost once a bound is broken, even by 1 ms.

**The watermark of a split**, in reports and everywhere, is the event time of its first unread
record − 1 − disorder if it has one, else h(s). So no split with a backlog reports MIN, and a gap in
event time is crossed. A split that is `far_behind` has h(s) in any case.

**Records without a credible event time** (stamped 2099, or not at all) take no part: they are read
with the next credible record. A split without any credible unread record has the watermark h(s),
and is read with the rest of the budget, in proportion, as in plain Spark.

**Steps.** The planner is pure: the clock is an argument, and a `SplitLog` answers its questions.
`answers` asks the log and searches for `T` with few look-ups (`lockgate.plan.search`). `Draft` is
how far the query would get alone. Once the reader has reported that, `Draft.plan(ceiling)` keeps to
the group's ceiling. Flink has no such part: it pauses splits that are already ahead
(`SourceOperator.checkSplitWatermarkAlignment`).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

from lockgate.duration import spoken
from lockgate.errors import InvalidValue

Split = TypeVar("Split", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """The unread part of one split: offsets `position` (next to be read) up to `end` (exclusive).

    The log has shown every append up to the wall clock `known_until` (ms), which is before the
    broker was asked. The split has had nothing unread since `caught_up_since` (ms), None while it
    has. Its producer may be `lag_bound` (ms) behind the clock, and later records may be `disorder`
    (ms) out of order; if these are None, `Bounds` has the values. If it is `far_behind`, its unread
    records hold back no other split (`lockgate.plan.far_behind`).
    """

    source: int
    position: int
    end: int
    known_until: int
    caught_up_since: int | None = None
    lag_bound: int | None = None
    disorder: int | None = None
    far_behind: bool = False

    @property
    def offsets(self) -> int:
        return max(0, self.end - self.position)


class Head(NamedTuple):
    """A record in a split's log, as its offset and its event time in ms."""

    offset: int
    event_time: int


class SplitLog(Protocol[Split]):
    """The unread part of each split's log as one plan sees it. Every call may ask the broker.

    A result leaves out splits without such a record, and records without a credible event time.
    """

    @property
    def read_budget_spent(self) -> bool:
        """Whether this plan has asked the log so often that it should end its search."""

    def heads(self) -> Mapping[Split, Head]:
        """Return the first unread record of each split."""

    def first_after(self, event_time: int) -> Mapping[Split, Head]:
        """Return each split's first unread record with an event time above `event_time` (ms)."""

    def highest(self) -> Mapping[Split, int]:
        """Return the highest event time (ms) below each split's end, read or unread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The user's promises and limits, in ms. Raises `InvalidValue` when one is out of range."""

    max_drift: int
    idle_timeout: int
    disorder: int = 0

    def __post_init__(self) -> None:
        for name in ("max_drift", "idle_timeout", "disorder"):
            if getattr(self, name) < 0:
                raise InvalidValue(name, f"must be 0 or more, not {spoken(getattr(self, name))}")
        if self.max_drift <= self.disorder:
            # A split's watermark lies 1 ms + disorder below its first unread record, and a ceiling
            # max_drift above a watermark.
            raise InvalidValue(
                "max_drift",
                f"must be greater than disorder ({spoken(self.disorder)}), or no split could read a first record",
            )


class PlannedState(Enum):
    """The state of a split once the plan's batch is read."""

    ACTIVE = "active"  # goes on with the next plan
    PAUSED = "paused"  # its next record is above the ceiling
    CAUGHT_UP = "caught_up"  # nothing is left to read
    IDLE = "idle"  # caught up for idle_timeout, and its watermark is the clock's


class Limit(Enum):
    """The reason why a plan goes no further."""

    BUDGET = "budget"
    GROUP = "group"  # the group's max desired watermark
    HORIZON = "partition"  # a partition of this query that may still bring older records
    SLICE = "slice"  # the end of a window, in event-time slices
    END = "end"  # nothing: all there is will be read


class SplitPlan(NamedTuple):
    """One split in a plan, which reads the offsets from `position` to `end` (exclusive).
    `watermark` (ms) is the split's before the batch.
    """

    position: int
    end: int
    state: PlannedState
    watermark: int
    next: "Head | None"  # the first record that is left unread, where it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[Split]):
    """The next batch, as the offsets that it reads. Times are in ms."""

    # T: no record above it is read (one timestamp larger than the budget: the last ms that is read
    # whole)
    target: int
    ceiling: int  # C: what the plan had to stay under
    limit: Limit
    splits: Mapping[Split, SplitPlan]
    look_ups: int

    @property
    def offsets(self) -> int:
        return sum(split.end - split.position for split in self.splits.values())

    @property
    def paused(self) -> frozenset[Split]:
        """The splits whose next record is above the ceiling."""
        return frozenset(name for name, split in self.splits.items() if split.state is PlannedState.PAUSED)
