"""Where a split's log passes an event time, found by reading a few records here and there. For what
Kafka's time look-ups cannot see.

Between a place that is known to be at or below the time and one that is known to be above, the
place is guessed by the straight line between the two, or by the pace at which the log went lately,
and the interval is halved whenever the guess did not. Kafka sends some records along with each that
is asked for (a window), and the JVM looks through them; so a guess need only be near, and aims half
a window low. Records without a credible event time are passed over there, and go with the credible
record behind them. So one crossing takes 2 · log2(offsets) reads at most, and one or two where a
log is even.

The log is taken for sorted here. Where it is out of order by `disorder`, what is read goes up to
`disorder` beyond the time and what is left begins up to `disorder` below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.plan.model import Head

# a longer stretch without a credible record, and the clock alone says how far a split has come
FURTHEST_BACK = 4_096


class Reading(NamedTuple):
    """What was found from an offset on: the first credible record; how many others before it, and
    the first of those; `until`: no other record below this offset is credible.

    Where it is at or below the time that is looked for, and further records came along: the last
    one known at or `below` it, and the first `above` with nothing credible in between. What came
    along went on up to `seen`, exclusive, markers included; the `highest` record of it, or at least
    as high as its last one.
    """

    found: Head | None
    passed: int
    first_passed: Head | None
    until: int
    below: Head | None = None
    above: Head | None = None
    seen: int = -1
    highest: Head | None = None

    @classmethod
    def of(cls, row: Sequence[int]) -> "Reading":
        """Out of one split's row of what `KafkaLog.read` answers."""
        return cls(
            _head(*row[:2]),
            row[2],
            _head(*row[3:5]),
            row[5],
            _head(*row[6:8]),
            _head(*row[8:10]),
            row[10],
            _head(*row[11:13]),
        )

    def heads(self) -> list[Head]:
        """Return the credible records that the search has found."""
        return [head for head in (self.found, self.below, self.above, self.highest) if head is not None]

    def head(self) -> Head | None:
        """Return the credible record's event time, at the first offset that it stands for."""
        if self.found is None or self.first_passed is None:
            return self.found
        return Head(self.first_passed.offset, self.found.event_time)


@dataclass(slots=True)
class Crossing:
    """The search in one split. Everything below `low` is known to be at or below `event_time`,
    `above` is the first record known beyond it (None: none is known), and between `upper` and it
    nothing is credible. `pace`: offsets per ms, where the log has shown it; `window`: how many
    records one read is likely to show.
    """

    event_time: int
    low: int
    end: int
    below: Head | None = None
    above: Head | None = None
    pace: float | None = None
    window: int = 1
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
        """Where a read has to end."""
        return self.end if self.above is None else self.above.offset

    @property
    def done(self) -> bool:
        """Return whether `above` is the answer."""
        return self.low >= self._upper and self._behind is None

    def probe(self) -> int:
        """Return the offset to read at."""
        if self._behind is not None and self.low >= self._upper:
            self.low, self._upper, self._behind = max(self.low, self._behind), self.bound, None
        width = self._upper - self.low
        ahead = self._ahead_by_pace()
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

    def _ahead_by_pace(self) -> int | None:
        """How far beyond `low` the event time is passed if the log goes on as it did."""
        if self.below is None or self.pace is None:
            return None
        return max(0, self.below.offset + int((self.event_time - self.below.event_time) * self.pace) + 1 - self.low)

    def learn(self, at: int, reading: Reading) -> None:
        """Take in what was found at or after the offset `at`."""
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
    """The search for the last credible record below an offset `blank` and not below `floor`:
    backwards by steps, doubled from `back` on, then by halving what the reads have not shown.
    """

    blank: int  # from here on nothing is credible
    floor: int = 0
    back: int = 1
    last: Head | None = None
    _walked: int = 0

    @property
    def done(self) -> bool:
        """Return whether `last` is the answer; None where it lies too far back, or there is
        none.
        """
        return self.blank <= self.floor or (self.last is None and self._walked > FURTHEST_BACK)

    def probe(self) -> int:
        """Return the offset to read at, up to `blank`."""
        return max(self.floor, self.blank - self.back) if self.last is None else (self.floor + self.blank) // 2

    def learn(self, at: int, reading: Reading) -> None:
        """Take in what was found at or after the offset `at`."""
        if reading.found is None:
            self._walked += self.blank - at
            self.blank, self.back = at, 2 * self.back
        else:
            self.last = max(reading.heads())
            self.floor = max(self.last.offset + 1, reading.seen)


def _head(offset: int, event_time: int) -> Head | None:
    return None if offset < 0 else Head(offset, event_time)
