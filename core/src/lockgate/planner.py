"""The planner: how far each split of a query may be read in its next batch. The heart of lockgate.

**The rule.** For the splits `s` of one query, each with a position, an end at the broker and a budget of offsets per source,
choose the greatest event time `T ≤ C` that stays within every budget, `cost(T) ≤ B < cost(T + 1 ms)`, and read each split up
to its first record above `T`. So all splits stand level in event time at every batch boundary. Where one timestamp alone is
more than the budget, it is read in several batches: whenever the ceiling lets somebody read, somebody reads.

**Horizon.** What a split's log holds *now* is not all that will come: a live producer may lag. With `t` the wall clock before
the broker was asked and `disorder` the out-of-orderness inside a split,

    h(s) = max(highest event time below its end − disorder, t − idle_timeout) − 1

is the watermark of a split that is read to its end: no record at or below it is still to come, if the records of a split are
at most `disorder` out of order and are appended at most `idle_timeout` after their event time. So

    C = min(the group's max desired watermark, max_drift + min over all s of h(s))

A backlog as such bounds nothing (it comes along to `T` in the same batch), but its *end* does: a slow live split holds the
others however its polls fall. In a replay `t − idle_timeout` is far above everything; ended and empty splits hold nobody.

**Why no row is late.** All rows of a batch have event times ≤ T, so Spark's watermark is ≤ T − delay. A row that is read
later lies above T − disorder (its split stopped at a record above T) or above h(s) ≥ T − max_drift (its split was read to the
end). Both are above Spark's watermark if `max(max_drift, disorder) ≤ delay`. `tests/core/test_planner_model.py` runs this
against arbitrary live feeds, and shows that rows are lost once a bound is broken.

**The watermark of a split**, in reports and everywhere: event time of its first unread record − 1 − disorder if it has one,
else h(s). So nobody with a backlog reports MIN, and a gap in event time is crossed.

The planner is pure: the clock is an argument, and what it wants to know of the logs it asks a `SplitLog`. It is made in two
steps, since a reader reports between them: `survey` (where do I stand, how far would I get alone), then `Survey.plan(ceiling)`.
Used by `lockgate_spark`; Flink has no such part, it pauses after the fact (`SourceOperator.checkSplitWatermarkAlignment`).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

from lockgate import watermark
from lockgate.errors import InvalidValue
from lockgate.search import AIM, Found, greatest_within

Split = TypeVar("Split", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What there is to read of one split: offsets `position` (next to be read) up to `end` (exclusive).

    `known_until`: wall clock in ms up to which the log is known to have shown everything that was appended: the time before
    the broker was asked; older where a transaction was still open. `caught_up_since`: wall clock in ms since when nothing was
    left to read; None while something is.
    """

    source: int
    position: int
    end: int
    known_until: int
    caught_up_since: int | None = None

    @property
    def offsets(self) -> int:
        """How many offsets are unread, 0 or more."""
        return max(0, self.end - self.position)


class Head(NamedTuple):
    """A record in a split's log: its offset and its event time in ms."""

    offset: int
    event_time: int


class SplitLog(Protocol[Split]):
    """The unread part of each split's log, from its position up to its end, as one plan sees it.

    Splits with nothing to tell are left out of the answers. Every call may ask the broker: a plan makes a handful.
    """

    def heads(self) -> Mapping[Split, Head]:
        """The first unread record of each split."""

    def first_after(self, event_time: int) -> Mapping[Split, Head]:
        """For each split its first unread record whose event time is above `event_time` (ms)."""

    def highest(self) -> Mapping[Split, int]:
        """The highest event time (ms) below each split's end, read or unread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the user promises and allows, in ms. Raises `InvalidValue` when a value is out of range."""

    max_drift: int
    idle_timeout: int
    disorder: int = 0

    def __post_init__(self) -> None:
        for name in ("max_drift", "idle_timeout", "disorder"):
            if getattr(self, name) < 0:
                raise InvalidValue(name, f"must be 0 ms or more, not {getattr(self, name)}")
        if self.max_drift <= self.disorder:
            # A split's watermark lies 1 ms + disorder below its first unread record, and a ceiling max_drift above a watermark.
            raise InvalidValue("max_drift", f"must be greater than disorder ({self.disorder} ms), or nobody could read a first record")


class SplitState(Enum):
    """Where a split stands once the plan's batch is read."""

    ACTIVE = "active"  # goes on with the next plan
    PAUSED = "paused"  # its next record is above the ceiling
    CAUGHT_UP = "caught_up"  # nothing is left to read
    IDLE = "idle"  # caught up for idle_timeout, and its watermark is the clock's


class Limit(Enum):
    """What kept a plan from going further."""

    BUDGET = "budget"
    GROUP = "group"  # the group's max desired watermark
    HORIZON = "horizon"  # a split of this query that may still bring older records
    END = "end"  # nothing: all there is will be read


class SplitPlan(NamedTuple):
    """One split in a plan: offsets `position` to `end` (exclusive) are read; `watermark` (ms) is the split's before the batch."""

    position: int
    end: int
    state: SplitState
    watermark: int
    next: "Head | None"  # the first record that is left unread, where it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[Split]):
    """What the next batch reads. Times in ms."""

    target: int  # T: no record above it is read (one timestamp larger than the budget: the last ms that is read whole)
    ceiling: int  # C: what the plan had to stay under
    limit: Limit
    splits: Mapping[Split, SplitPlan]
    look_ups: int

    @property
    def offsets(self) -> int:
        """How many offsets the batch spans."""
        return sum(split.end - split.position for split in self.splits.values())

    @property
    def paused(self) -> frozenset[Split]:
        """The splits whose next record is above the ceiling."""
        return frozenset(name for name, split in self.splits.items() if split.state is SplitState.PAUSED)


class Hint(NamedTuple):
    """What the last plan taught: it ended at event time `target` (ms), and a full budget spans about `span` ms."""

    target: int
    span: float


class Survey(Generic[Split]):
    """Where a query stands before its next batch, and how far it would get alone.

    `budgets`: offsets per batch and source, None for no limit. `watermarks`: each split's, in ms, before the batch. `horizon`:
    the query's own part of the ceiling, in ms. `look_ups`: how often the log was asked so far.
    """

    def __init__(
        self,
        backlogs: Mapping[Split, Backlog],
        log: SplitLog[Split],
        bounds: Bounds,
        budgets: Mapping[int, int | None],
        hint: Hint | None = None,
    ) -> None:
        self._backlogs = backlogs
        self._log = log
        self._bounds = bounds
        self._budgets = budgets
        self._cuts: dict[int, Mapping[Split, Head]] = {}
        self._highest: Mapping[Split, int] | None = None
        self._heads = log.heads() if any(backlog.offsets for backlog in backlogs.values()) else {}
        self._first = min((head.event_time for head in self._heads.values()), default=watermark.MAX)
        self.look_ups = 0
        self.horizon = self._clock_horizon()
        self._own = self._search(hint)
        self._own_limit = self._what_limits(self._own)
        self.watermarks = {split: self._watermark(split) for split in backlogs}

    @property
    def limit(self) -> Limit:
        """What keeps the query from going further alone."""
        return self._own_limit

    @property
    def reach(self) -> int:
        """How far in event time (ms) the next batch gets if the group's ceiling is left out; never above what the logs hold."""
        if self._own_limit is Limit.BUDGET:
            return self._own.target
        return min(self._own.target, max(self._highest_times().values(), default=watermark.MIN))

    def reported_watermarks(self) -> dict[Split, int]:
        """`watermarks` as the group must know them: of the splits that are read to their end by their last records too.

        The plan alone can go by the clock there. A group could not: it would fall back to the clock, and hold for all of `idle_timeout`
        whoever still has to read.
        """
        if any(split not in self._heads for split in self._backlogs):
            self._highest_times()
        return {split: self._watermark(split) for split in self._backlogs}

    @property
    def hint(self) -> Hint | None:
        """What this survey teaches the next one; None while nothing was measured."""
        use = self._use(self._own.target)
        return Hint(self._own.target, (self._own.target - self._first + 1) / use) if use > 0 else None

    def plan(self, ceiling: int = watermark.MAX) -> Plan[Split]:
        """The plan under the group's max desired watermark (ms)."""
        target, overfull, limit = self._own.target, self._own.overfull, self._own_limit
        if ceiling < (target if overfull is None else overfull):
            target, overfull, limit = min(ceiling, target), None, Limit.GROUP
        heads = self._cut(target)
        ends = {split: self._end(split, heads) for split in self._backlogs}
        if overfull is not None and not any(ends[split] > backlog.position for split, backlog in self._backlogs.items()):
            ends = self._share(self._cut(overfull))
        return Plan(
            target=target,
            ceiling=min(ceiling, self.horizon),
            limit=limit,
            splits={split: self._split_plan(split, end, heads, limit) for split, end in ends.items()},
            look_ups=self.look_ups,
        )

    # -- the greatest T within the budgets and the horizon --

    def _search(self, hint: Hint | None) -> Found:
        found = self._within(self._first - 1, hint)
        if found.target < self.horizon or not self._cut(found.target):
            return found
        # The budgets reach beyond what the clock alone allows: ask how far the logs themselves have come.
        self.horizon = max(self.horizon, self._log_horizon())
        return self._within(found.target, hint) if found.target < self.horizon else found

    def _within(self, low: int, hint: Hint | None) -> Found:
        if self._fits():
            return Found(self.horizon, None)
        return greatest_within(self._use, low, self.horizon, self._first_guess(low, hint))

    def _fits(self) -> bool:
        """Whether all there is fits the budgets."""
        return all(budget is None or self._source_offsets(source, {}) <= budget for source, budget in self._budgets.items())

    def _first_guess(self, low: int, hint: Hint | None) -> int:
        if hint is not None:
            return max(low, hint.target) + int(hint.span * AIM)
        # Nothing is known yet: as if the backlog lay evenly between its first record and the last one in the logs.
        last = max(self._highest_times().values(), default=low)
        return low + int((last - low) * AIM / self._use(watermark.MAX))

    def _use(self, event_time: int) -> float:
        """Which part of its budget the source that needs most would use for a batch up to `event_time`; 1.0 is all."""
        heads = self._cut(event_time)
        uses = (self._source_offsets(source, heads) / budget for source, budget in self._budgets.items() if budget is not None)
        return max(uses, default=0.0)

    def _what_limits(self, own: Found) -> Limit:
        if own.target < self.horizon:
            return Limit.BUDGET
        return Limit.HORIZON if self._cut(own.target) else Limit.END

    # -- what the logs say --

    def _cut(self, event_time: int) -> Mapping[Split, Head]:
        """The first unread record above `event_time` of each split; both ends of time are answered without asking."""
        if event_time < self._first:
            return self._heads
        if event_time == watermark.MAX:
            return {}
        if event_time not in self._cuts:
            self.look_ups += 1
            self._cuts[event_time] = self._log.first_after(event_time)
        return self._cuts[event_time]

    def _end(self, split: Split, heads: Mapping[Split, Head]) -> int:
        backlog = self._backlogs[split]
        head = heads.get(split)
        return max(backlog.position, backlog.end if head is None else min(head.offset, backlog.end))

    def _source_offsets(self, source: int, heads: Mapping[Split, Head]) -> int:
        return sum(self._end(split, heads) - b.position for split, b in self._backlogs.items() if b.source == source)

    def _highest_times(self) -> Mapping[Split, int]:
        if self._highest is None:
            self.look_ups += 1
            self._highest = self._log.highest()
        return self._highest

    # -- horizons, watermarks and states --

    def _clock_horizon(self) -> int:
        """The lower bound of the query's own ceiling that needs no look-up: the clock's part of every h(s)."""
        clock = min((backlog.known_until for backlog in self._backlogs.values()), default=watermark.MAX)
        return watermark.add(clock, self._bounds.max_drift - self._bounds.idle_timeout - 1)

    def _log_horizon(self) -> int:
        self._highest_times()
        return watermark.add(min(self._end_watermark(split) for split in self._backlogs), self._bounds.max_drift)

    def _end_watermark(self, split: Split) -> int:
        """h(s); the clock's part of it alone while the highest event times have not been asked for."""
        by_clock = watermark.add(self._backlogs[split].known_until, -self._bounds.idle_timeout - 1)
        highest = None if self._highest is None else self._highest.get(split)
        return by_clock if highest is None else max(by_clock, highest - self._bounds.disorder - 1)

    def _watermark(self, split: Split) -> int:
        head = self._heads.get(split)
        return self._end_watermark(split) if head is None else head.event_time - self._bounds.disorder - 1

    def _split_plan(self, split: Split, end: int, heads: Mapping[Split, Head], limit: Limit) -> SplitPlan:
        backlog = self._backlogs[split]
        return SplitPlan(backlog.position, end, self._state(split, end, limit), self.watermarks[split], heads.get(split))

    def _state(self, split: Split, end: int, limit: Limit) -> SplitState:
        backlog = self._backlogs[split]
        if end < backlog.end:
            return SplitState.PAUSED if limit in (Limit.GROUP, Limit.HORIZON) else SplitState.ACTIVE
        if end > backlog.position:
            return SplitState.ACTIVE
        by_clock = backlog.known_until - self._bounds.idle_timeout
        idle = backlog.caught_up_since is not None and backlog.caught_up_since <= by_clock and self.watermarks[split] < by_clock
        return SplitState.IDLE if idle else SplitState.CAUGHT_UP

    def _share(self, heads: Mapping[Split, Head]) -> dict[Split, int]:
        """One timestamp is more than the budget: as much of it as the budget gives, split by split."""
        left = dict(self._budgets)
        ends = {}
        for split, backlog in self._backlogs.items():
            budget = left[backlog.source]
            wanted = self._end(split, heads) - backlog.position
            taken = wanted if budget is None else min(wanted, budget)
            ends[split] = backlog.position + taken
            left[backlog.source] = None if budget is None else budget - taken
        return ends
