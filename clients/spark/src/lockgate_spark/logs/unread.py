"""The unread records of all sources of a query at one moment. `Unread` implements the planner's
`SplitLog` over the logs of several sources.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from lockgate.plan.model import Backlog, Head, Plan
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.crossing import Reading
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

T = TypeVar("T")

Key = tuple[int, str]
"""A split of a query: the index of its source, and its name."""


def by_source(values: Mapping[Key, T]) -> dict[int, dict[str, T]]:
    """Return the values of splits, grouped by source."""
    found = dict[int, dict[str, T]]()
    for (i, split), value in values.items():
        found.setdefault(i, {})[split] = value
    return found


def names(keys: Iterable[Key], among: Iterable[Key]) -> dict[Key, str]:
    """Return the name of each split, with its source if several splits in `among` share a name."""
    known = Counter(split for _, split in set(among))
    return {key: key[1] if known[key[1]] < 2 else f"{key[1]} of source {key[0]}" for key in keys}


def named(key: Key, among: Iterable[Key]) -> str:
    """Return the topic and partition of a split for log lines, with its source if needed."""
    topic, _, partition = key[1].rpartition("-")
    source = f" of source {key[0]}" if any(i != key[0] and split == key[1] for i, split in among) else ""
    return f"topic {topic}, partition {partition}{source}"


def counts(numbers: Mapping[Key, int], among: Iterable[Key]) -> str:
    """Return the number of each split as text, with the splits' `names`."""
    called = names(numbers, among)
    return ", ".join(f"{called[key]} {n}" for key, n in sorted(numbers.items()))


class Sampled(NamedTuple):
    """A summary of some records: how many were inspected (`looked`), how many of these have a value
    (`valued`) and an event time (`timed`), and the last value as text. The text is empty if no
    record has a value, and "?" if the last value is not UTF-8.
    """

    looked: int
    valued: int
    timed: int
    value: str


class Least(NamedTuple):
    """The smallest batch of one source that is worth reading, and the longest wait for it."""

    offsets: int
    delay_ms: int


class Source(Protocol):
    """One aligned source of a query."""

    log: KafkaSplitLog
    budget: int | None  # the maximum number of offsets in a batch
    least: Least | None
    fixed_at: int | None  # wall-clock time (ms) just before the ends were fixed under AvailableNow

    @property
    def event_time(self) -> object | None:
        """The expression for the event time; None for Kafka's timestamp."""

    def initial(self) -> Offsets:
        """Return the offsets at which the source starts without a checkpoint."""

    def comes(self, ends: Offsets, seconds: float) -> bool:
        """Wait at most `seconds` for a record at or beyond `ends`. Return whether such a record has
        come.
        """

    def sampled(self, ranges: Mapping[str, tuple[int, int]]) -> Sampled:
        """Return a summary of the records in `ranges` of offsets, one for each split."""

    def ends(self, start: Offsets) -> Offsets:
        """Return the end of each split. Splits that are missing from `start` are new. Under
        AvailableNow, the ends are fixed by the first call.
        """


@dataclass(frozen=True, slots=True)
class Unread:
    """The positions and ends of all sources' splits. Requests go to each source's log."""

    sources: Mapping[int, Source]
    positions: Mapping[int, Offsets]
    ends: Mapping[int, Offsets]

    @classmethod
    def ask(
        cls, sources: Mapping[int, Source], starts: Mapping[int, Offsets], now: int, credible: Credible
    ) -> "Unread":
        """Ask every source for its ends at `now` (wall clock in ms), and return them with the
        positions, which are `starts`. Deleted splits are left out. A position beyond the end of its
        split becomes that end, because Spark decides whether this is an error (`failOnDataLoss`).
        """
        positions, ends = {}, {}
        for i, source in sources.items():
            start = dict(starts[i])
            source.log.begin_plan(credible)
            # What fixed ends hide matters only where the horizon does: a replay need not ask.
            hides = source.log.requests.reads_committed or (source.fixed_at is not None and source.log.asks_before_ends)
            # of a split that is gone Kafka answers nothing
            if hides or source.log.asks_before_ends or sorted(start) != source.log.requests.order:
                found = source.ends(start)
                start = {split: position for split, position in start.items() if split in found}
            source.log.set_splits(start)
            found, live = source.log.ask_ends(partial(source.ends, start), live=hides)
            if found.keys() != start.keys():
                begins = source.log.requests.begins()
                start = {split: start.get(split, begins.get(split, 0)) for split in found}
            # With their old positions, a topic created again would pass unnoticed, and its first
            # records with it.
            ends[i] = found
            positions[i] = {split: min(position, found[split]) for split, position in start.items()}
            source.log.note_ends(now, positions[i], found, live, source.fixed_at)
        return cls(sources, positions, ends)

    def splits(self) -> Iterator[tuple[Key, int, int]]:
        """Yield each split with its position and its end."""
        for i, of_source in self.positions.items():
            ends = self.ends[i]
            for split, position in of_source.items():
                yield (i, split), position, ends[split]

    @property
    def read_budget_spent(self) -> bool:
        """Whether a plan has reached the limit on reads of single records in one of the logs."""
        return any(source.log.read_budget_spent for source in self.sources.values())

    def backlogs(self) -> dict[Key, Backlog]:
        """Return the backlog of each split, which is the planner's input."""
        self.heads()  # they tell where so much is not credible that the plan has to end there
        found = dict[Key, Backlog]()
        for (i, split), position, end in self.splits():
            log = self.sources[i].log.learned[split]
            found[i, split] = Backlog(
                source=i,
                position=position,
                end=log.end_of_search(end),
                known_until=log.known_until,
                caught_up_since=log.caught_up_since,
            )
        return found

    def heads(self) -> dict[Key, Head]:
        """Return the first unread record of each split."""
        return self._of_all(lambda i, log: log.heads(self.positions[i], self.ends[i]))

    def first_after(self, event_time: int) -> dict[Key, Head]:
        """Return, for each split, the first unread record above `event_time` (ms)."""
        return self._of_all(lambda i, log: log.first_after(event_time, self.positions[i], self.ends[i]))

    def confirm(self, target: int, stops: Mapping[Key, Head]) -> bool:
        """Return whether the logs confirm `stops`, as `KafkaSplitLog.confirm` says."""
        return all(self.sources[i].log.confirm(target, each, self.ends[i]) for i, each in by_source(stops).items())

    def find(self, ranges: Mapping[Key, tuple[int, int]], credible: Credible | None = None) -> dict[Key, Reading]:
        """Return the reading of the first record in each range of offsets whose event time is in
        the range `credible`; by default, in that of the plan.
        """
        return {
            (i, split): reading
            for i, of_source in by_source(ranges).items()
            for split, reading in self.sources[i].log.find(of_source, credible).items()
        }

    def met(self, plan: Plan[Key]) -> Iterator[tuple[Key, Head]]:
        """Yield the records that lockgate has read in the batch of `plan`, and the known record
        with the highest event time of each split, without a request.
        """
        for (i, split), made in plan.splits.items():
            for head in self.sources[i].log.learned[split].points.seen(made.position, made.end):
                yield (i, split), head
        yield from self._of_all(lambda i, log: log.last_met(self.ends[i])).items()

    def highest(self) -> dict[Key, int]:
        """Return the highest known event time (ms) among the records below each split's end."""
        return self._of_all(lambda i, log: log.highest(self.ends[i]))

    def _of_all(self, ask: Callable[[int, KafkaSplitLog], Mapping[str, T]]) -> dict[Key, T]:
        return {(i, split): found for i, source in self.sources.items() for split, found in ask(i, source.log).items()}
