"""Decides how far a reader reads, and which partitions Kafka's client fetches meanwhile. Pure.

**The read limit.** No record above it is returned. It is the lower of the group's limit, which
comes from the reader's place, and the reader's own: `max_drift` above the lowest watermark of its
partitions. While a partition has had no record yet, its watermark is MIN, and so is the limit. Thus
the first record of every partition is known before the first record is returned.

There is one exception. A strategy may put a partition's watermark further below its next record
than `max_drift`, and then no record could ever be returned. So once the next record of every
partition that is not idle is known, the reader's own limit is at least the lowest event time.

**The pause.** Kafka's client pauses a partition once it keeps more than its share of `MOST_KEPT`
fetched records, and resumes it when half of that is left. It does not pause it earlier, because
librdkafka drops what it has fetched ahead of a paused partition, which halves the rate
(docs/internals/benchmarks.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX, MIN, add
from lockgate_reader.place import Key

MOST_KEPT = 100_000
"""How many fetched records may wait, over all partitions, before partitions are paused."""
LEAST_KEPT = 500
"""The least share of a single partition, however many partitions there are."""


class Position(NamedTuple):
    """The state of one partition, as far as the read limit depends on it.

    `watermark` (ms) is that of its returned records. `next_time` is the event time (ms) of the next
    record: None if nothing is fetched, MIN if the record has none. `kept` counts records that are
    fetched but not returned. Kafka's client does not fetch a `paused` partition.
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
