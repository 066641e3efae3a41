"""The planner, which decides how far each split of a query is read in the next batch.

**The rule.** Each split `s` of a query has a position and an end at the broker, and each source has
a budget of offsets. Choose the highest event time `T` that is not above the ceiling `C` (below),
and up to which the unread records stay within every budget. Read each split up to its first record
above `T`. So all splits are aligned in event time at every batch boundary. If the records of one
timestamp exceed the budget, several batches read them, so the query makes progress whenever the
ceiling allows it.

**Horizon.** A split's log does not yet have all records, because a live producer may lag. Let `t`
be the time just before the broker was asked, and `disorder` the out-of-orderness inside a split.
Then

    h(s) = max(highest event time in its log − disorder, t − lag(s)) − 1

is the watermark of a split that is read to its end. No record at or below h(s) is still to come if
the records of a split are at most `disorder` out of order, and are appended at most `lag(s)` after
their event time. This lag is `idle_timeout`, or learned from the split's own producer
(`lockgate.plan.producer_lag`). So

    C = min(the group's max desired watermark, max_drift + min over all s of h(s))

The second of these two values, the query's *horizon*, limits its plans even without a group. The
records of a backlog do not limit `C`, because the same batch reads them up to `T`. The *end* of the
log does, so a slow live split always holds back the others. In a replay `t − lag(s)` is far above
all records, so finished and empty splits hold back no other split.

**Why no row is late.** All rows of a batch have event times ≤ T, so Spark's watermark is ≤ T −
delay. For a row that is read later, there are two cases:

* Its split stopped at a record above T. Then the row lies above T − disorder.
* Its split was read to the end. Then the row lies above h(s) ≥ T − max_drift.

In both cases the row is above Spark's watermark if `max_drift ≤ delay`, since `Bounds` checks that
`disorder` is below `max_drift`. `lag(s)` does not appear in this condition, because an idle split
still limits C by the clock. `tests/core/plan/test_plan_model.py` runs the planner on arbitrary live
feeds, and shows that rows are lost once a bound is broken, even by 1 ms.

**The watermark of a split**, in reports and everywhere else, is the event time of its first unread
record − 1 − disorder if there is one, else h(s). So no split with a backlog reports MIN, and the
watermark rises across a gap in event time. The watermark of a split that is `far_behind` is always
h(s).

**Records without a credible event time** (stamped 2099, or not at all) are left out: they are read
together with the next credible record. A split without any credible unread record has the watermark
h(s), and gets a share of the rest of the budget, as in plain Spark.

**Steps.** The planner is pure: the clock is an argument, and a `SplitLog` answers its questions.

1. `answers` asks the log, and searches for `T` with few look-ups (`lockgate.plan.search`).
2. `Draft` holds the target that the query would have without its group. The reader reports it.
3. `Draft.plan(ceiling)` plans under the group's ceiling.

Flink has no such planner: it pauses splits that are already ahead
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
    """The unread part of one split.

    Attributes:
        source: The number of the split's source in the query.
        position: The next offset to read.
        end: The end offset (exclusive).
        known_until: The time (wall clock, ms) just before the broker was asked for `end`. All
            records appended before it are known.
        caught_up_since: The time (ms) since which everything has been read, or None.
        lag_bound: The producer's assumed lag (ms), or None for `Bounds.idle_timeout`.
        disorder: The out-of-orderness (ms) of later records, or None for `Bounds.disorder`.
        far_behind: True if no other split waits for this one (`lockgate.plan.far_behind`).
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
    """The offset and the event time (ms) of a record in a split's log."""

    offset: int
    event_time: int


class SplitLog(Protocol[Split]):
    """The logs of all splits of one plan, up to the `end` of each `Backlog`. Every call may ask the
    broker.

    Results leave out records without a credible event time, and splits without a matching record.
    """

    @property
    def read_budget_spent(self) -> bool:
        """Whether the log was read so often for this plan that the plan should end its search."""

    def heads(self) -> Mapping[Split, Head]:
        """Return the first unread record of each split."""

    def first_after(self, event_time: int) -> Mapping[Split, Head]:
        """Return each split's first unread record with an event time above `event_time` (ms)."""

    def highest(self) -> Mapping[Split, int]:
        """Return the highest event time (ms) in each split's log, over read and unread records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds that a plan assumes. Raises `InvalidValue` if one is negative or `max_drift` is
    not above `disorder`.

    Attributes:
        max_drift: The drift (ms) that plans allow.
        idle_timeout: The default upper bound on a producer's lag (ms). It applies to splits whose
            `Backlog.lag_bound` is None.
        disorder: The out-of-orderness (ms) that is subtracted in reported watermarks. It is also
            the default for splits whose `Backlog.disorder` is None.
    """

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
    """The state that a split will have once the plan's batch has been read."""

    ACTIVE = "active"  # goes on with the next plan
    PAUSED = "paused"  # its next record is above the ceiling
    CAUGHT_UP = "caught_up"  # nothing is left to read
    IDLE = "idle"  # caught up for idle_timeout, and its watermark is the clock's


class Limit(Enum):
    """The reason why a plan reads no further."""

    BUDGET = "budget"
    GROUP = "group"  # the group's max desired watermark
    HORIZON = "partition"  # a partition of this query that may still bring older records
    SLICE = "slice"  # the end of a window, in event-time slices
    END = "end"  # no limit: everything is read


class SplitPlan(NamedTuple):
    """The plan for one split, which is read from the offset `position` to `end` (exclusive).
    `watermark` (ms) is the split's watermark before the batch.
    """

    position: int
    end: int
    state: PlannedState
    watermark: int
    next: "Head | None"  # the first record that is left unread, if it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[Split]):
    """The plan of the next batch: the offsets that it reads from each split. Times are in ms."""

    # T: no record above it is read. If one timestamp exceeds the budget, it is the last ms of which
    # all records are read.
    target: int
    ceiling: int  # C: the target is not above it
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
