"""The workload of a simulation: queries, their splits, and the records of each split.

A split's log is described rather than listed, as stretches of records that are evenly spaced in
event time. So a split of a million records costs as much as one of ten.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lockgate.errors import InvalidValue

MOST_KINDS = 64
"""If a query has more splits than this, similar ones are merged for the simulation."""


class Stretch(NamedTuple):
    """A number of `records`, evenly spaced in event time from `first` to `end` (ms, exclusive)."""

    records: int
    first: int
    end: int

    def time(self, number: int) -> int:
        """Return the event time (ms) of the record with the index `number` in this stretch."""
        return self.first + number * (self.end - self.first) // self.records

    def up_to(self, event_time: int) -> int:
        """Return how many of the records have an event time at or below `event_time` (ms)."""
        if event_time < self.first:
            return 0
        width = self.end - self.first
        if event_time >= self.end or width == 0:
            return self.records
        # the first record whose event time is above: number · width // records > event_time - first
        return min(self.records, -(-(event_time - self.first + 1) * self.records // width))


@dataclass(frozen=True, slots=True)
class SplitLoad:
    """The log of one split, as stretches in order of event time.

    Each record is appended `lag_ms` after its event time, or is there from the start if `lag_ms` is
    None. Raises `InvalidValue` for stretches that are empty or go back in event time, and for a
    negative lag.
    """

    name: str
    stretches: tuple[Stretch, ...]
    lag_ms: int | None = None

    def __post_init__(self) -> None:
        before = None
        for stretch in self.stretches:
            if stretch.records < 1:
                raise InvalidValue(f"partition {self.name}", f"a stretch must hold a record, not {stretch.records}")
            if stretch.end < stretch.first or (before is not None and stretch.first < before):
                raise InvalidValue(f"partition {self.name}", "event time must not go back from one stretch to the next")
            before = stretch.end
        if self.lag_ms is not None and self.lag_ms < 0:
            raise InvalidValue(f"partition {self.name}", f"the lag must be 0 or more, not {self.lag_ms} ms")

    @property
    def records(self) -> int:
        """The number of records that the log holds once all are appended."""
        return sum(stretch.records for stretch in self.stretches)

    def time(self, offset: int) -> int:
        """Return the event time (ms) of the record at `offset`, or raise `InvalidValue`."""
        for stretch in self.stretches:
            if offset < stretch.records:
                return stretch.time(offset)
            offset -= stretch.records
        raise InvalidValue(f"partition {self.name}", f"it holds no record at {offset} beyond its end")

    def up_to(self, event_time: int) -> int:
        """Return how many records of the split have an event time at or below `event_time` (ms)."""
        return sum(stretch.up_to(event_time) for stretch in self.stretches)

    def end_at(self, wall: int) -> int:
        """Return the log's end offset at the time `wall` (wall clock, ms)."""
        return self.records if self.lag_ms is None else self.up_to(wall - self.lag_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLoad:
    """One query of a workload. Raises `InvalidValue` if it has no splits or a value is too low.

    Attributes:
        name: The query's name.
        splits: The splits that it reads.
        records_per_second: The speed at which it reads.
        delay_ms: The delay of `withWatermark`.
        budget: The maximum number of records in a batch (`maxOffsetsPerTrigger`), or None.
        overhead_ms: The time that a batch takes in addition to the time for its records.
        trigger_ms: The least time between the starts of two batches.
        window_ms: The length of the windows. If it is 0, a row is late if its own event time is not
            above the watermark.
        idle_timeout_ms: The idle timeout of `Alignment`.
        disorder_ms: The out-of-orderness of `Alignment`.
    """

    name: str
    splits: tuple[SplitLoad, ...]
    records_per_second: float
    delay_ms: int
    budget: int | None = None
    overhead_ms: int = 1_000
    trigger_ms: int = 0
    window_ms: int = 0
    idle_timeout_ms: int = 60_000
    disorder_ms: int = 0

    def __post_init__(self) -> None:
        if not self.splits:
            raise InvalidValue(f"query {self.name}", "it reads no partition: give it one")
        if self.records_per_second <= 0:
            raise InvalidValue(f"query {self.name}: records_per_second", "must be above 0")
        if self.budget is not None and self.budget < 1:
            raise InvalidValue(f"query {self.name}: max_offsets_per_trigger", f"must be above 0, not {self.budget}")
        for field in ("delay_ms", "overhead_ms", "trigger_ms", "window_ms", "idle_timeout_ms", "disorder_ms"):
            if getattr(self, field) < 0:
                raise InvalidValue(f"query {self.name}: {field}", f"must be 0 or more, not {getattr(self, field)}")

    @property
    def records(self) -> int:
        return sum(split.records for split in self.splits)

    def in_kinds(self, most: int = MOST_KINDS) -> "QueryLoad":
        """Return the same load in about `most` splits, by merging splits with about the same span
        of event times and the same lag. It is unchanged if it has no more than `most` splits.

        Merged splits advance alike, whatever their density: a plan cuts all splits at one event
        time, and Spark divides a batch in proportion to unread records. Only the drift caused by
        gaps between the records of sparse splits is no longer simulated.
        """
        if len(self.splits) <= most:
            return self
        parts, kinds = most, _merged(self.splits)
        while len(kinds) > most and parts > 1:
            parts //= 2
            kinds = _merged(_rounded(self.splits, parts))
        return replace(self, splits=tuple(kinds))


def _merged(splits: Iterable[SplitLoad]) -> list[SplitLoad]:
    found: dict[object, SplitLoad] = {}
    for split in splits:
        if len(split.stretches) == 1:
            kind: object = (split.stretches[0].first, split.stretches[0].end, split.lag_ms)
        else:
            kind = (split.stretches, split.lag_ms, split.name) if split.stretches else (split.lag_ms,)
        other = found.get(kind)
        if other is None:
            found[kind] = split
        elif split.stretches:
            (stretch,), (more,) = other.stretches, split.stretches
            both = Stretch(stretch.records + more.records, stretch.first, stretch.end)
            found[kind] = SplitLoad(other.name, (both,), split.lag_ms)
    return list(found.values())


def _rounded(splits: Sequence[SplitLoad], parts: int) -> Iterator[SplitLoad]:
    """Yield the splits with rounded event times and lags, so that more of them can be merged.

    The time from the first to the last event time of all splits is divided into `parts` steps. Each
    split then covers whole steps: its first event time is rounded down, and its end is rounded up.
    Lags are rounded up to steps of 1/`parts` of the greatest lag.
    """
    filled = [split for split in splits if split.stretches]
    least = min(split.stretches[0].first for split in filled)
    most = max(split.stretches[-1].end for split in filled)
    step = max(1, -(-(most - least) // parts))
    lag_step = max(1, -(-max(split.lag_ms or 0 for split in filled) // parts))
    yield from (split for split in splits if not split.stretches)
    for split in filled:
        first = least + (split.stretches[0].first - least) // step * step
        end = min(most, least - (least - split.stretches[-1].end) // step * step)
        lag = None if split.lag_ms is None else -(-split.lag_ms // lag_step) * lag_step
        yield SplitLoad(split.name, (Stretch(split.records, first, end),), lag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The queries of one group. Its rule is `CatchUp.JOINT` if `joint` is true, else `STRICT`.

    If the start time `start_ms` (wall clock) is None, `begin` derives it from the splits. Raises
    `InvalidValue` if there are no queries, or if two of them have the same name.
    """

    queries: tuple[QueryLoad, ...]
    joint: bool = True
    start_ms: int | None = None

    def __post_init__(self) -> None:
        names = [query.name for query in self.queries]
        if not names:
            raise InvalidValue("workload", "it has no query")
        if len(set(names)) < len(names):
            raise InvalidValue("workload", "two of its queries have the same name")

    @property
    def records(self) -> int:
        return sum(query.records for query in self.queries)

    @property
    def begin(self) -> int:
        """The time (wall clock, ms) at which the queries start.

        It is `start_ms` if that is set, else the lowest event time of the splits that have a
        `lag_ms`. If no split has one, it is more than the idle timeout after the ends of all
        splits.
        """
        if self.start_ms is not None:
            return self.start_ms
        live = [
            split.stretches[0].first
            for query in self.queries
            for split in query.splits
            if split.lag_ms is not None and split.stretches
        ]
        if live:
            return min(live)
        ends = [
            split.stretches[-1].end + query.idle_timeout_ms
            for query in self.queries
            for split in query.splits
            if split.stretches
        ]
        return max(ends, default=0) + 1
