"""Estimates how many rows would have been late if Spark had divided the budget of each batch by
backlog (`docs/guide/measure.md`).

For every aligned batch, a batch of plain Spark is simulated, with `maxOffsetsPerTrigger` shared
among the partitions in proportion to their backlogs. Its records at or below the simulated
watermark of the previous batch would have been late. Event times are those of records that plans
have read anyway, and are assumed to rise evenly between two of these. So a simulated batch is
counted once the aligned query has read all of its records, or once too many batches wait.
"""

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from lockgate.plan.draft import Draft
from lockgate.plan.model import Head, Plan
from lockgate.watermark import MAX
from lockgate_spark.event_times import KAFKAS, QueryWatermark
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread, by_source
from lockgate_spark.spark_run import Checkpointed

_OFFSET, _EVENT_TIME = attrgetter("offset"), attrgetter("event_time")
MOST_KEPT = 100_000  # ends of splits in batches that are not counted yet: some 10 MB


class Operator(NamedTuple):
    """A `withWatermark` of a query: the sources whose rows it gets, and its delay (ms)."""

    sources: frozenset[int]
    delay: int


def operators_of(found: Sequence[QueryWatermark], in_payload: Mapping[int, bool]) -> list[Operator]:
    """Return the operators of a query with the watermarks `found`; none if one uses an event time
    that plans do not see. `in_payload` says for each source whether its aligned event time is in
    the payload.
    """
    operators = list[Operator]()
    for each in found:
        if any(o.source is None or in_payload.get(o.source) != (o.column != KAFKAS) for o in each.origins):
            return []
        operators.append(Operator(frozenset(o.source for o in each.origins if o.source is not None), each.delay_ms))
    return operators


def native_ends(positions: Offsets, ends: Offsets, budget: int | None) -> Offsets:
    """Return the offsets at which Spark's Kafka source would end a batch from `positions`, if the
    logs end at `ends`. `budget` is maxOffsetsPerTrigger; None for no limit.
    """
    if budget is None:
        return dict(ends)
    left = {split: end - positions[split] for split, end in ends.items() if end > positions[split]}
    total = sum(left.values())
    shares = {split: budget * (offsets / total) for split, offsets in left.items()}
    taken = {split: math.ceil(share) if share < 1 else math.floor(share) for split, share in shares.items()}
    return {split: min(end, positions[split] + taken[split]) if split in taken else end for split, end in ends.items()}


@dataclass(slots=True)
class EventTimes:
    """The known records of a split, with event times (ms) that do not fall."""

    _heads: list[Head] = field(default_factory=list)

    def learn(self, head: Head) -> None:
        """Add a record, with an event time that is limited to the range of its neighbours'."""
        at = bisect_left(self._heads, head.offset, key=_OFFSET)
        after = self._heads[at] if at < len(self._heads) else Head(-1, MAX)
        if after.offset != head.offset:
            lowest = self._heads[at - 1].event_time if at else head.event_time
            self._heads.insert(at, Head(head.offset, max(lowest, min(head.event_time, after.event_time))))

    def at(self, offset: int) -> int:
        """Return the event time at an offset, by interpolation. A record must be known."""
        after = bisect_right(self._heads, offset, key=_OFFSET)
        if not 0 < after < len(self._heads):
            return self._heads[min(after, len(self._heads) - 1)].event_time
        (left, low), (right, high) = self._heads[after - 1 : after + 1]
        return low + (high - low) * (offset - left) // (right - left)

    def upto(self, event_time: int, start: int, end: int) -> int:
        """Estimate how many offsets from `start` to `end` (exclusive) are up to `event_time`."""
        after = bisect_right(self._heads, event_time, key=_EVENT_TIME)
        if not 0 < after < len(self._heads):
            return end - start if after else 0
        (left, low), (right, high) = self._heads[after - 1 : after + 1]
        last = left + (event_time - low) * (right - left) // (high - low)
        return max(0, min(end, last + 1) - start)

    def forget_below(self, offset: int) -> None:
        del self._heads[: max(0, bisect_right(self._heads, offset, key=_OFFSET) - 1)]


class RowsSaved:
    """Estimates how many rows alignment has saved in one run: `rows` is how many plain Spark would
    have dropped so far.
    """

    def __init__(self, operators: Sequence[Operator], sources: Mapping[int, Source], run: Checkpointed) -> None:
        self.rows = 0
        self._operators, self._sources = operators, sources
        self._choose = max if run.takes_highest() else min
        self._fed = frozenset().union(*(operator.sources for operator in operators))  # of all operators
        self._own = [0] * len(operators)  # each operator's watermark
        # what the next batch is filtered with, and what is in force after the last one
        self._filter = self._watermark = run.logged_watermark() or 0
        self._read: dict[Key, int] = {}  # by the aligned query
        self._played: dict[Key, int] = {}  # by the native one
        self._start_again({})

    def follow(self, plan: Plan[Key], unread: Unread, draft: Draft[Key]) -> None:
        logs = {(i, split): end for i in self._fed & unread.ends.keys() for split, end in unread.ends[i].items()}
        plans = {key: made for key, made in plan.splits.items() if key in logs}
        if any(self._played.get(key, 0) > end for key, end in logs.items()) or any(
            self._read.get(k, 0) > p.position for k, p in plans.items()
        ):
            # a topic was made anew
            self._start_again({key: made.position for key, made in plans.items()})
        self._read = {key: made.end for key, made in plans.items()}
        self._played = {key: self._played.get(key, made.position) for key, made in plans.items()}
        at_ends = ((key, made.next) for key, made in plans.items() if made.next is not None)
        for key, head in chain(draft.heads.items(), unread.met(plan), at_ends):
            if key in self._played:
                self._times.setdefault(key, EventTimes()).learn(head)
        if plan.offsets or not self._left(logs):
            self._play(logs)
        done = all(end >= logs[key] for key, end in self._read.items())
        while done and self._left(logs):  # rounded down, native budgets are a little smaller
            self._play(logs)
        # a run with fixed ends is over once it has read up to them
        over = done and all(source.fixed_at is not None for source in self._sources.values())
        self._count(self._read if over else {key: made.position for key, made in plans.items()})

    def finish(self) -> None:
        """Count the late rows of the batches that the run has read completely."""
        self._count(self._read)

    def _start_again(self, positions: dict[Key, int]) -> None:
        self._played = positions
        self._times: dict[Key, EventTimes] = {}
        self._batches: deque[dict[Key, tuple[int, int]]] = deque()
        self._kept = 0
        self._paused = True  # nothing was read since the last batch without data

    def _left(self, logs: Mapping[Key, int]) -> bool:
        return any(position < logs[key] for key, position in self._played.items())

    def _play(self, logs: Mapping[Key, int]) -> None:
        """Simulate one batch of plain Spark, or one without data when none is left."""
        batch = dict[Key, tuple[int, int]]()
        for i, positions in by_source(self._played).items():
            ends = native_ends(positions, {split: logs[i, split] for split in positions}, self._sources[i].budget)
            batch |= {(i, split): (positions[split], end) for split, end in ends.items() if end > positions[split]}
        self._played |= {key: end for key, (_, end) in batch.items()}
        if batch or not self._paused:
            self._batches.append(batch)
            self._kept += len(batch)
        self._paused = not batch

    def _count(self, read: Mapping[Key, int]) -> None:
        while self._batches:
            batch = self._batches[0]
            if self._kept <= MOST_KEPT and any(end > read.get(key, end) for key, (_, end) in batch.items()):
                break
            self._batches.popleft()
            self._kept -= len(batch)
            self._count_batch(batch)

    def _count_batch(self, batch: Mapping[Key, tuple[int, int]]) -> None:
        brought: dict[int, int] = {}
        for key, (start, end) in batch.items():
            if (times := self._times.get(key)) is None:
                continue
            last = times.at(end - 1)
            self.rows += times.upto(self._filter, start, end)
            brought[key[0]] = max(last, brought.get(key[0], last))
            times.forget_below(end)
        for i, operator in enumerate(self._operators):
            highest = max((brought[source] for source in operator.sources & brought.keys()), default=0)
            self._own[i] = max(self._own[i], highest - operator.delay)
        self._filter, self._watermark = self._watermark, max(self._watermark, self._choose(self._own))
