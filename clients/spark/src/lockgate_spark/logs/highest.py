"""Finds the highest event time among the records below the end of each split. The partition
watermarks of a plan are based on it.

Kafka's look-up of the highest timestamp may return a transaction's marker, an aborted record, or a
record beyond the end. So its result is only a claim, and **only a record that lockgate has read
counts**. In a live log, these records usually come along with the first unread one. Otherwise, two
kinds of reads are made:

* if the time of a claim is above all event times read so far, of the record at its offset, together
  with the records just before the end;
* if there is no record at that offset, or no claim, of the last record below the end (`Tail`), once
  for each end.

The result is never too high. It may be too low, by at most the out-of-orderness of the records
between the reads. Then other partitions wait longer, and nothing is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.crossing import FURTHEST_BACK, Read, Reading, Tail, search

_CLOSE = 64  # offsets that one read is likely to show, however large the records


@dataclass(slots=True)
class Highest:
    """Progress of the search for the highest event time in one split. The result of Kafka's last
    look-up, `named`, is the `claim` if it lies below the end, until a read has confirmed or refuted
    it.
    """

    record: Head | None = None  # the one with the highest event time read so far
    named: Head | None = None
    claim: Head | None = None
    _false: Head | None = None  # what was named last and is no record
    _looked: tuple[int, int] = (0, 0)  # a stretch without a gap in which all records are known
    _last: int = -1  # the last record that was read
    _back: int = 1  # how far below the end the last record was found
    _tail_of: int = -1  # the end below which it was looked for last

    def ends_at(self, end: int, credible: Credible) -> None:
        """Set the `end` of the log, and the claim if the look-up has returned a record below."""
        if end < self._looked[1]:  # the topic was created again
            self.record = self.claim = self._false = None
            self._looked, self._last, self._tail_of = (0, 0), -1, -1
        if self._is_below(end, credible) and self.named != self._false:
            self.claim = self.named
        self._judge(*self._looked)

    def learn(self, start: int, reading: Reading) -> None:
        """Update `record` and the claim from a read that began at the offset `start`."""
        for head in reading.heads():
            self.record = head if self._is_above(head) else self.record
            self._last = max(self._last, head.offset)
        stop, (low, high) = reading.until if reading.found is None else reading.seen, self._looked
        if start <= high and low <= stop:
            self._looked = min(low, start), max(high, stop)
        elif high < stop:
            self._looked = start, stop
        self._judge(start, stop)

    def _judge(self, start: int, stop: int) -> None:
        """Drop the claim if a record with the same or a higher event time is known, or if it is no
        record, because all records from the offset `start` to `stop` were read.
        """
        if self.claim is not None and not self._is_above(self.claim):
            self.claim = None
        elif self.claim is not None and start <= self.claim.offset < stop:
            self.claim, self._false = None, self.claim

    def _is_below(self, end: int, credible: Credible) -> bool:
        return self.named is not None and self.named.offset < end and credible.has(self.named.event_time)

    def _is_above(self, head: Head) -> bool:
        return self.record is None or head.event_time > self.record.event_time

    def claimed_from(self, end: int) -> int | None:
        """Return the offset at which to start the read that checks the claim; None if there is no
        claim. The read ends at `end`, and may start before the claim, so that it also shows the
        last records below `end`.
        """
        if self.claim is None:
            return None
        if self.claim.offset < max(self._looked[1], end - _CLOSE):
            return self.claim.offset
        return max(self._looked[1], min(self.claim.offset, end - self._back))

    def tail(self, end: int, credible: Credible) -> Tail | None:
        """Return the search for the last record below `end`; None if it was made before, or if that
        record or the one with the highest event time is known already.
        """
        named = self.named if self._is_below(end, credible) else None
        if self._tail_of == end or (named is not None and not self._is_above(named)):
            return None
        low, high = self._looked
        known = self._last >= low or high - low > FURTHEST_BACK or low == 0
        if high < end:
            return Tail(end, high if known else 0, self._back)
        return None if known else Tail(low, 0, self._back)

    def looked_for(self, end: int, tail: Tail) -> None:
        """Store the result of the search that `tail` has returned for `end`."""
        self._tail_of = end
        if tail.last is not None:
            self._back = min(_CLOSE, max(self._back // 2, end - tail.last.offset))


def settle(splits: Mapping[str, Highest], ends: Mapping[str, int], credible: Credible, read: Read) -> None:
    """Find the record with the highest event time below the end of each split, and store it in the
    split's `Highest`. `read` reads ranges of offsets with unknown records, and calls
    `Highest.learn`.
    """
    for split, known in splits.items():
        known.ends_at(ends[split], credible)
    claims = {split: known.claimed_from(ends[split]) for split, known in splits.items()}
    if ranges := {split: (at, ends[split]) for split, at in claims.items() if at is not None}:
        read(ranges)
    if left := {split: (known.claim.offset, ends[split]) for split, known in splits.items() if known.claim is not None}:
        read(left)
    tails = {split: tail for split, known in splits.items() if (tail := known.tail(ends[split], credible)) is not None}
    search(tails, read)
    for split, tail in tails.items():
        splits[split].looked_for(ends[split], tail)
