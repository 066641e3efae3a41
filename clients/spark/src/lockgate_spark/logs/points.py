"""What is known of single records in one split: the beginning of an index over its offsets, where look-ups see nothing."""

from dataclasses import dataclass, field

from lockgate.planner import Head

MOST = 256  # points kept a split


@dataclass(slots=True)
class Points:
    """Credible records that were seen at or after the position, and stretches of others that were met."""

    first_met: Head | None = None  # the first one of the others that was met
    _seen: dict[int, int] = field(default_factory=dict)  # event time by offset
    _met: dict[int, tuple[Head, int]] = field(default_factory=dict)  # by the offset of the first: that record, and how many

    def add(self, head: Head) -> None:
        """Notes a credible record."""
        if len(self._seen) < MOST:
            self._seen[head.offset] = head.event_time

    def meet(self, first: Head, records: int = 1) -> None:
        """Notes that `records` without a credible event time lie from `first` on."""
        self.first_met = self.first_met or first
        stop = first.offset + records
        for known, count in list(self._met.values()):
            if known.offset <= stop and first.offset <= known.offset + count:  # they touch: one stretch
                del self._met[known.offset]
                first, stop = min(first, known), max(stop, known.offset + count)
        self._met[first.offset] = (first, stop - first.offset)

    def met(self, start: int, end: int) -> int:
        """How many records without a credible event time are known to lie from `start` up to `end`."""
        spans = ((max(start, first.offset), min(end, first.offset + records)) for first, records in self._met.values())
        return sum(max(0, high - low) for low, high in spans)

    def around(self, event_time: int, end: int) -> tuple[Head | None, Head | None]:
        """The last known record at or below the event time, and the first one known above it; only below `end`."""
        below = None
        for offset in sorted(self._seen):
            if offset >= end:
                break
            head = Head(offset, self._seen[offset])
            if head.event_time > event_time:
                return below, head
            below = head
        return below, None

    def forget_below(self, position: int) -> None:
        """Forgets what has been read."""
        self._seen = {offset: time for offset, time in self._seen.items() if offset >= position}
        self._met = {offset: met for offset, met in self._met.items() if offset + met[1] > position}
