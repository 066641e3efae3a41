"""Searches for the offset at which a split's log passes an event time, by reading a few records.

The next offset to read is interpolated between a record at or below the event time and one above
it, or follows from the rate at which the log grew recently. If a guess does not halve the interval,
the next step does. So a crossing takes at most 2 · log2(offsets) reads, and one or two in a log
whose event times rise evenly. The JVM also inspects the records that Kafka sends along (a window),
so a guess aims half a window too low. Records without a credible event time (`Credible`) are
skipped: a batch reads them together with the next credible record.

The search assumes that the log is sorted. If the log is out of order by `disorder`, records before
the offset that was found may be up to `disorder` above the event time, and records after it may be
up to `disorder` below.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.plan.model import Head

# a longer stretch without a credible record, and the clock alone says how far a split has come
FURTHEST_BACK = 4_096

Ranges = Mapping[str, tuple[int, int]]
"""By split, the offset from which to read, and the one before which the read ends."""


class Reading(NamedTuple):
    """The result of reading a split from an offset on, in the search for an event time. `below` and
    `above` are known only if `found` is at or below that event time.
    """

    found: Head | None  # the first credible record
    passed: int  # the number of records skipped before `found`, none of which is credible
    first_passed: Head | None  # the first of these
    until: int  # the offset below which no record except `found` is credible
    below: Head | None = None  # the last record known to be at or below the event time
    above: Head | None = None  # the next credible record after `below`, which is above the event time
    seen: int = -1  # the offset after the last record that Kafka sent along with `found`, markers included
    highest: Head | None = None  # the highest event time among the inspected records

    @classmethod
    def of(cls, row: Sequence[int]) -> "Reading":
        """Unpack `row`, the numbers that `KafkaLog.read` has returned for one split."""
        heads = (Head(*row[n : n + 2]) if row[n] >= 0 else None for n in (0, 3, 6, 8, 11))
        found, first_passed, below, above, highest = heads
        return cls(found, row[2], first_passed, row[5], below, above, row[10], highest)

    def heads(self) -> list[Head]:
        """Return the credible records of this reading."""
        return [head for head in (self.found, self.below, self.above, self.highest) if head is not None]

    def head(self) -> Head | None:
        """Return `found`, at the offset of `first_passed` if there is one: a batch reads all of
        these records together.
        """
        if self.found is None or self.first_passed is None:
            return self.found
        return Head(self.first_passed.offset, self.found.event_time)


Read = Callable[[Ranges], Mapping[str, Reading]]
"""Read the given range of offsets of each split."""


@dataclass(slots=True)
class Crossing:
    """The search for the first record above `event_time` (ms) in one split."""

    event_time: int
    low: int  # all records below this offset are known to be at or below `event_time`
    end: int  # of the log
    below: Head | None = None  # the last record known to be at or below `event_time`
    above: Head | None = None  # the first record known to be above it
    pace: float | None = None  # offsets per ms of event time at which the log grew
    window: int = 1  # the number of records that one read is likely to show
    _upper: int = -1
    # nothing is credible from `_upper` up to here, and what follows is not known yet
    _behind: int | None = None
    _halve: bool = False
    # by pace alone at least so far, and twice as far each time, until it was too far
    _stride: int = 0

    def __post_init__(self) -> None:
        self._upper = self.bound

    @property
    def bound(self) -> int:
        """The offset before which a read has to end."""
        return self.end if self.above is None else self.above.offset

    @property
    def done(self) -> bool:
        """Whether the search is over, with `above` as its result."""
        return self.low >= self._upper and self._behind is None

    def probe(self) -> int:
        """Return the offset at which to read next."""
        if self._behind is not None and self.low >= self._upper:
            self.low, self._upper, self._behind = max(self.low, self._behind), self.bound, None
        width, ahead = self._upper - self.low, None
        if self.below is not None and self.pace is not None:
            grown = int((self.event_time - self.below.event_time) * self.pace)
            ahead = max(0, self.below.offset + grown + 1 - self.low)
        if ahead is not None and 2 * ahead < width:  # what is known above is far away
            self._stride, at_least = 2 * max(self._stride, self.window), self._stride
            ahead = max(ahead - self.window // 2, at_least)
        elif self.above is None and self._upper == self.end:
            ahead = width - 1 - self.window // 2  # most often nothing is beyond
        elif self._halve or self.below is None or self.above is None:
            ahead = width // 2
        else:
            share = (self.event_time - self.below.event_time) / max(1, self.above.event_time - self.below.event_time)
            ahead = int(share * width) - self.window // 2
        return self.low + min(width - 1, max(0, ahead))

    def learn(self, at: int, reading: Reading) -> None:
        """Narrow the search by the result of a read from the offset `at` on."""
        width = self._upper - self.low
        if reading.found is not None and reading.found.event_time <= self.event_time:
            self.low, self.below = reading.found.offset + 1, reading.found
        else:
            if reading.found is not None:
                self.above, self._behind = reading.head(), None
            elif reading.until < self.bound:
                self._behind = reading.until
            elif self.above is not None and reading.first_passed is not None:
                self.above = Head(reading.first_passed.offset, self.above.event_time)
            self._upper, self.pace = at, None
        if reading.below is not None:
            self.low, self.below = reading.below.offset + 1, reading.below
        if reading.above is not None:
            self._upper, self.above, self._behind = self.low, reading.above, None
        self._halve = 2 * (self._upper - self.low) > width


@dataclass(slots=True)
class Tail:
    """The search for the last credible record between the offsets `floor` and `bound`. It goes
    backwards, first by `back` offsets and then by twice as many each time. From the first credible
    record that it finds, it continues by bisection.
    """

    bound: int  # from here on nothing is credible
    floor: int = 0
    back: int = 1
    last: Head | None = None
    _walked: int = 0

    @property
    def done(self) -> bool:
        """Whether the search is over, with `last` as its result. `last` is None if there is no
        credible record, or if the search has given up after `FURTHEST_BACK` offsets.
        """
        return self.bound <= self.floor or (self.last is None and self._walked > FURTHEST_BACK)

    def probe(self) -> int:
        """Return the offset at which the next read starts. The read ends at `bound`."""
        return max(self.floor, self.bound - self.back) if self.last is None else (self.floor + self.bound) // 2

    def learn(self, at: int, reading: Reading) -> None:
        """Narrow the search by the result of a read from the offset `at` on."""
        if reading.found is None:
            self._walked += self.bound - at
            self.bound, self.back = at, 2 * self.back
        else:
            self.last = max(reading.heads())
            self.floor = max(self.last.offset + 1, reading.seen)


def search(searches: Mapping[str, Crossing | Tail], read: Read) -> None:
    """Carry out one search for each split. Each call of `read` makes a step of all of them."""
    while open_ := {split: each for split, each in searches.items() if not each.done}:
        ranges = {split: (each.probe(), each.bound) for split, each in open_.items()}
        for split, reading in read(ranges).items():
            open_[split].learn(ranges[split][0], reading)
