"""A simulated query, with its positions in its splits and the rows that Spark would drop.

`NativeReader` divides a batch's budget among splits as Spark does, and `AlignedReader` reads as
planned by `lockgate.plan`. Both count late rows by Spark's rule: the watermark of a batch follows
from all earlier batches, and closes windows when the batch ends. A row is late, and lost, if an
earlier batch has closed the window of the row (Spark's `watermarkPropagator`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Backlog, Bounds, Head
from lockgate.plan.search import Curve
from lockgate.simulate.workload import QueryLoad, SplitLoad
from lockgate.watermark import MIN


class VirtualLog:
    """The simulated logs of all splits, as a `lockgate.plan.model.SplitLog` for the planner."""

    read_budget_spent = False  # asking costs nothing here

    def __init__(self, splits: Mapping[str, SplitLoad], positions: Mapping[str, int], ends: Mapping[str, int]) -> None:
        self._splits, self._positions, self._ends = splits, positions, ends

    def heads(self) -> Mapping[str, Head]:
        return {
            name: Head(position, self._splits[name].time(position))
            for name, position in self._positions.items()
            if position < self._ends[name]
        }

    def first_after(self, event_time: int) -> Mapping[str, Head]:
        found = {}
        for name, split in self._splits.items():
            offset = max(self._positions[name], split.up_to(event_time))
            if offset < self._ends[name]:
                found[name] = Head(offset, split.time(offset))
        return found

    def highest(self) -> Mapping[str, int]:
        return {name: split.time(self._ends[name] - 1) for name, split in self._splits.items() if self._ends[name] > 0}


@dataclass(slots=True)
class Tally:
    """The counts of a simulated query so far, named as in `RunOutcome`. `done_at` is the time (wall
    clock, ms) at which the query had read everything, or None until then.
    """

    rows: int = 0
    lost: int = 0
    batches: int = 0
    state_rows: int = 0
    longest_wait_ms: int = 0
    done_at: int | None = None


class VirtualReader:
    """A simulated query, described by `load`, that starts at `begin` (wall clock, ms).

    `positions` maps each split to its next offset. `watermark` is Spark's watermark (ms) after the
    last batch. Subclasses choose where the next batch ends.
    """

    def __init__(self, load: QueryLoad, begin: int) -> None:
        self.load, self.tally = load, Tally()
        self.splits = {split.name: split for split in load.splits}
        self.positions = dict.fromkeys(self.splits, 0)
        self.watermark = MIN
        self._closed = MIN  # windows that end at or below this watermark are closed
        self._begin = begin
        self._highest = MIN

    def ends(self, now: int) -> dict[str, int]:
        """Return the end offset of each split's log at `now` (wall clock, ms)."""
        return {name: split.end_at(now) for name, split in self.splits.items()}

    @property
    def is_done(self) -> bool:
        """Whether the query has read everything that its splits will ever hold."""
        return all(self.positions[name] >= split.records for name, split in self.splits.items())

    def seconds(self, ends: Mapping[str, int]) -> float:
        rows = sum(ends.values()) - sum(self.positions.values())
        return self.load.overhead_ms / 1000 + rows / self.load.records_per_second

    def read(self, ends: Mapping[str, int], now: int) -> None:
        """Finish a batch at `now` (wall clock, ms) that reads each split up to its offset in
        `ends`. Update positions, tally and watermark.
        """
        closed, window = self._closed, self.load.window_ms
        # rows with a lower event time (ms) are late
        cutoff = MIN if closed == MIN else closed // window * window if window else closed + 1
        for name, end in ends.items():
            split, position = self.splits[name], self.positions[name]
            if end <= position:
                continue
            self.tally.rows += end - position
            self.tally.lost += max(0, min(end, split.up_to(cutoff - 1)) - position)
            self._highest = max(self._highest, split.time(end - 1))
            if split.lag_ms is not None:
                appended = split.time(position) + split.lag_ms
                self.tally.longest_wait_ms = max(self.tally.longest_wait_ms, now - max(appended, self._begin))
            self.positions[name] = end
        self.tally.batches += 1
        self._closed = self.watermark
        kept = sum(max(0, end - self.splits[name].up_to(cutoff - 1)) for name, end in self.positions.items())
        self.tally.state_rows = max(self.tally.state_rows, kept)
        self.watermark = max(self.watermark, self._highest - self.load.delay_ms)

    def drift(self) -> int:
        """Return how far apart (ms) the splits are, by the event time of the last record that was
        read from each. Splits that are not read yet, or read to their final end, do not count.
        """
        times = [
            split.time(self.positions[name] - 1)
            for name, split in self.splits.items()
            if 0 < self.positions[name] < split.records
        ]
        return max(times) - min(times) if times else 0

    def first_unread(self) -> int | None:
        """Return the lowest event time (ms) of an unread record, or None if all are read."""
        heads = (
            split.time(self.positions[name])
            for name, split in self.splits.items()
            if self.positions[name] < split.records
        )
        return min(heads, default=None)

    def highest_in(self, ends: Mapping[str, int]) -> int:
        """Return the highest event time (ms) in a batch up to `ends`, which must read a record."""
        return max(self.splits[name].time(end - 1) for name, end in ends.items() if end > self.positions[name])


class NativeReader(VirtualReader):
    """A query under plain Spark, which divides a batch's budget among the splits in proportion to
    their unread records (`KafkaMicroBatchStream.rateLimit`).
    """

    def batch(self, now: int) -> dict[str, int] | None:
        """Return the end offsets of a batch planned at `now` (wall-clock ms), or None if empty."""
        ends = self.ends(now)
        unread = {name: end - self.positions[name] for name, end in ends.items()}
        total = sum(unread.values())
        if not total:
            return None
        budget = self.load.budget
        if budget is None or total <= budget:
            return ends
        # Spark takes at least one record of each split that has any
        return {
            name: min(end, self.positions[name] + (max(1, budget * unread[name] // total) if unread[name] else 0))
            for name, end in ends.items()
        }


class AlignedReader(VirtualReader):
    """A query whose batches are planned by `lockgate.plan`."""

    def __init__(self, load: QueryLoad, begin: int, max_drift: int) -> None:
        super().__init__(load, begin)
        self._bounds = Bounds(
            max_drift=max_drift, idle_timeout=load.idle_timeout_ms, disorder=min(load.disorder_ms, max_drift - 1)
        )
        self._learned: Curve | None = None
        self._caught_up: dict[str, int] = {}

    def draft(self, now: int) -> Draft[str]:
        """Return the draft of a plan at `now` (wall clock, ms), without the group's ceiling."""
        ends = self.ends(now)
        backlogs = {}
        for name, end in ends.items():
            lag = self.splits[name].lag_ms
            if self.positions[name] < end:
                self._caught_up.pop(name, None)
            else:
                self._caught_up.setdefault(name, now)
            backlogs[name] = Backlog(
                source=0,
                position=self.positions[name],
                end=end,
                known_until=now,
                caught_up_since=self._caught_up.get(name),
                lag_bound=None if lag is None else max(lag, self._bounds.max_drift),
            )
        log = VirtualLog(self.splits, dict(self.positions), ends)
        draft = Draft(LogAnswers(backlogs, log, self._bounds, {0: self.load.budget}, self._learned))
        self._learned = draft.answers.curve
        return draft
