"""How far a reader reads, and which partitions Kafka's client fetches meanwhile. Pure.

**The read limit.** No record above it is returned. It is the lower of two. The group's limit comes
from the reader's place. The reader's own is `max_drift` above the lowest watermark of its
partitions. A partition that has shown nothing is at MIN, and so is the limit then: before the
first record is returned, the first one of every partition is known.

One case is added. A strategy may put a partition's watermark further below its next record than
`max_drift`; then no record could ever be returned. So if the next record of every partition that
counts is known, the reader's own limit is not below the lowest of them.

**The pause.** A partition whose next record is above the limit waits, and what was fetched of it is
kept. Kafka's client pauses the partition once its share of `MOST_KEPT` is kept, and resumes it
when half of that is left. It does not pause it at once, because librdkafka then drops what it has
fetched ahead, and fetches it again: that halves the rate (docs/internals/benchmarks.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX, MIN, add
from lockgate_reader.place import Key

MOST_KEPT = 100_000
"""The number of fetched records that wait, over all partitions, before partitions are paused."""
LEAST_KEPT = 500
"""The number for a single partition, however many there are."""


class Position(NamedTuple):
    """What counts of one partition.

    `watermark` is that of its returned records, in ms. `next_time` is the event time of the next
    record: None if nothing is fetched, MIN if it has none. `kept` records are fetched and not
    returned. With `paused`, Kafka's client does not fetch it. Nobody waits for an `idle` one.
    """

    watermark: int = MIN
    next_time: int | None = None
    kept: int = 0
    paused: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """The read limit (ms), and the partitions that Kafka's client is to pause and to resume."""

    limit: int = MIN
    pause: tuple[Key, ...] = ()
    resume: tuple[Key, ...] = ()

    @classmethod
    def decide(cls, positions: Mapping[Key, Position], ceiling: int, max_drift_ms: int) -> "Admission":
        """Return the decision for these positions, under the `ceiling` of the group."""
        counting = [each for each in positions.values() if not each.idle]
        limit = min(ceiling, _own_limit(counting, max_drift_ms))
        most = max(LEAST_KEPT, MOST_KEPT // max(1, len(positions)))
        pause, resume = [], []
        for key, each in positions.items():
            if each.paused and each.kept <= most // 2:
                resume.append(key)
            elif not each.paused and each.kept > most:
                pause.append(key)
        return cls(limit, tuple(pause), tuple(resume))


def _own_limit(counting: list[Position], max_drift_ms: int) -> int:
    limit = add(min((each.watermark for each in counting), default=MAX), max_drift_ms)
    times = [each.next_time for each in counting if each.next_time is not None]
    if counting and len(times) == len(counting):
        return max(limit, min(times))
    return limit
