"""A sparse index of one split's log, from the first unread record on, which narrows the search for
an offset. It contains only the records that lockgate has read to make plans. Their event times need
not rise with the offset. The largest fall between two of them is a lower bound on the split's
out-of-orderness, since the records between them are unknown.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from lockgate.plan.model import Head
from lockgate.watermark import MAX, MIN
from lockgate_spark.logs.crossing import Reading
from lockgate_spark.logs.highest import Highest

MOST = 256  # points kept a split


@dataclass(slots=True)
class Points:
    """Credible records that lockgate has read at or after the position, and stretches of records
    without a credible event time.
    """

    first_met: Head | None = None  # the first record found without a credible event time
    pace: float | None = None  # offsets per ms of event time between the last two positions
    disorder: int = 0  # the largest time (ms) by which a record was older than one before it
    compared: int = 0  # about how many records were compared for that
    _read: int = MIN  # the highest event time that was met of what has been read
    # begin and end of the last stretch that was looked at, the highest event time up to there
    _sampled: tuple[int, int, int] | None = None
    _position: Head | None = None
    _seen: list[Head] = field(default_factory=list)  # by offset
    # by the offset of the first: that record, and how many
    _met: dict[int, tuple[Head, int]] = field(default_factory=dict)

    def add(self, head: Head) -> None:
        """Add a credible record, and update `disorder`. If there are more than `MOST` records now,
        remove the one whose two neighbours are closest to each other by offset.
        """
        at = bisect_left(self._seen, head)
        if at < len(self._seen) and self._seen[at] == head:
            return
        before, after = max((known.event_time for known in self._seen[:at]), default=head.event_time), self._seen[at:]
        later = min((known.event_time for known in after), default=head.event_time)
        self.disorder = max(self.disorder, before - head.event_time, head.event_time - later)
        insort(self._seen, head)
        if len(self._seen) > MOST:
            del self._seen[min(range(1, MOST), key=lambda n: self._seen[n + 1].offset - self._seen[n - 1].offset)]

    def start(self, head: Head) -> None:
        """Set the first unread record, and update `disorder` and `pace` by it."""
        before, self._position = self._position, head
        if before is None or before.offset < head.offset:
            self._read = max(self._read, MIN if before is None else before.event_time)
            self.disorder = max(self.disorder, self._read - head.event_time)
            self.compared += 1
        if before is not None and before.offset < head.offset and before.event_time < head.event_time:
            self.pace = (head.offset - before.offset) / (head.event_time - before.event_time)

    def sample(self, start: int, stop: int, disorder: int, lowest: int, highest: int) -> None:
        """Update `disorder` from a sample of consecutive records, from the offset `start` up to
        `stop`. Their event times fall by at most `disorder`, and lie between `lowest` and `highest`
        (all in ms). A fall from earlier samples counts, too, unless they overlap with this one.
        """
        self.disorder = max(self.disorder, disorder)
        self.compared += stop - start
        before = lowest
        if self._sampled is not None and self._sampled[0] <= start:
            _, known, before = self._sampled
            if start < known:
                return
        self.disorder = max(self.disorder, before - lowest)
        self._sampled = start, stop, max(before, highest)

    def lacks(self, head: Head, by_ms: int) -> bool:
        """Return whether `head` is in the last sample, but more than `by_ms` above its records."""
        if self._sampled is None:
            return False
        start, stop, highest = self._sampled
        return start <= head.offset < stop and head.event_time > highest + by_ms

    def forget(self) -> None:
        """Forget the records, but keep `disorder`."""
        self._seen, self._position, self.pace = [], None, None

    def note(self, reading: Reading) -> None:
        """Add the records of a reading."""
        if reading.first_passed is not None:
            self.meet(reading.first_passed, reading.passed)
        for head in (reading.found, reading.below, reading.above):
            if head is not None:
                self.add(head)

    def meet(self, first: Head, records: int = 1) -> None:
        """Add a stretch of `records` offsets from `first` on without a credible event time."""
        self.first_met = self.first_met or first
        stop = first.offset + records
        for known, count in list(self._met.values()):
            # they touch: one stretch
            if known.offset <= stop and first.offset <= known.offset + count:
                del self._met[known.offset]
                first, stop = min(first, known), max(stop, known.offset + count)
        self._met[first.offset] = (first, stop - first.offset)

    def met(self, start: int, end: int) -> int:
        """Return how many records from `start` up to `end` are known to have no credible time."""
        spans = ((max(start, first.offset), min(end, first.offset + records)) for first, records in self._met.values())
        return sum(max(0, high - low) for low, high in spans)

    def seen(self, start: int, end: int) -> list[Head]:
        """Return the known credible records from the offset `start` up to `end`, in order."""
        return self._seen[bisect_left(self._seen, Head(start, MIN)) : bisect_left(self._seen, Head(end, MIN))]

    def around(self, event_time: int, end: int) -> tuple[Head | None, Head | None]:
        """Return the last known record at or below `event_time` (ms), and the first known one above
        it. Both lie below `end`.
        """
        below = None
        for head in self.seen(0, end):
            if head.event_time > event_time:
                return below, head
            below = head
        return below, None

    def forget_below(self, position: int) -> None:
        """Forget the records below the position, but not their highest event time."""
        below = bisect_left(self._seen, Head(position, MIN))
        self._read = max([self._read, *(head.event_time for head in self._seen[:below])])
        del self._seen[:below]
        self._met = {offset: met for offset, met in self._met.items() if offset + met[1] > position}


@dataclass(slots=True)
class Learned:
    """The findings about one split so far, from look-ups and from reading."""

    position: int = -1  # for which `head` was looked up
    head: Head | None = None  # the first credible record there
    # without it: up to which end it was looked for, and how far that got
    blank: tuple[int, int] = MAX, MAX
    points: Points = field(default_factory=Points)
    window: int = 1  # how many records one read showed last
    highest: Highest = field(default_factory=Highest)
    known_until: int = MIN
    readable_to: int = 0  # the end of what can be read, also after a fixed end
    caught_up_since: int | None = None
    named: dict[int, tuple[Head | None, int]] = field(default_factory=dict)
    """By each offset that a look-up has returned and that was read: the first credible record from
    there on, and an offset below which no other record is credible.
    """

    def knows_head(self, position: int, end: int) -> bool:
        """Return whether `head`, or its absence, is known for a log that is unread from `position`
        to `end`.
        """
        found = self.blank[0] == end if self.head is None else self.head.offset < end
        return self.position == position and found

    def end_of_search(self, end: int) -> int:
        """Return the offset at which a batch has to end at the latest: the log's `end`, or an
        earlier offset at which a read has given up without finding a credible record.
        """
        return end if self.head is not None else min(end, self.blank[1])

    def has_read(self, head: Head) -> bool:
        """Return whether lockgate has read this record. If not, the record may be a marker."""
        return (
            head.offset in self.named
            or (self.position, self.head) == (head.offset, head)
            or head in self.points.seen(head.offset, head.offset + 1)
        )

    def forget_below(self, position: int) -> None:
        """Forget the findings about single records below the position."""
        self.points.forget_below(position)
        self.named = {offset: there for offset, there in self.named.items() if offset >= position}
