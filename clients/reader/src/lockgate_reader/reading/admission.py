"""Computes the read limit of a reader, and the partitions that Kafka's client should pause. This
module does no I/O.

**The read limit.** No record above it is returned. It is the lower of two limits: the group's
limit, which the reader's `Place` sets, and the reader's own limit, which is `max_drift` above the
lowest watermark of its partitions. While a partition has had no record yet, its watermark is MIN,
and so is the limit. Thus the first record of every partition is fetched before the first record is
returned.

There is one exception. A watermark strategy may put a partition's watermark further below its next
record than `max_drift`, and then no record could ever be returned. So once the next record of every
partition that is not idle is fetched, the reader's own limit is at least the lowest event time of
these records.

**Pausing.** Kafka's client pauses a partition once the reader has more fetched records of it than
the partition's share of `MOST_KEPT`, and resumes it once the reader has at most half of that share.
A partition is not paused earlier, because librdkafka drops the records that it has fetched ahead
when a partition is paused, which halves the rate (docs/internals/benchmarks.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX, MIN, add
from lockgate_reader.place import Key

MOST_KEPT = 100_000
"""How many fetched records of all partitions may wait before partitions are paused."""
LEAST_KEPT = 500
"""The smallest share of `MOST_KEPT` that a partition gets if there are many partitions."""


class Position(NamedTuple):
    """The state of one partition, as far as the read limit depends on it.

    `watermark` (ms) is computed from the records that were returned. `next_time` is the event time
    (ms) of the next record: None if no record is fetched, MIN if the next one has no event time.
    `kept` counts records that are fetched but not returned. Kafka's client does not fetch a
    `paused` partition. Other partitions do not wait for an `idle` one.
    """

    watermark: int = MIN
    next_time: int | None = None
    kept: int = 0
    paused: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """The read limit (ms), the partitions that Kafka's client should pause and resume, and how many
    records of each partition may be kept before that.
    """

    limit: int = MIN
    pause: tuple[Key, ...] = ()
    resume: tuple[Key, ...] = ()
    most: int = LEAST_KEPT

    @classmethod
    def decide(cls, positions: Mapping[Key, Position], ceiling: int, max_drift_ms: int) -> "Admission":
        """Return the read limit and the partitions to pause and resume, for these `positions` and
        the group's read limit `ceiling` (ms).
        """
        counting = [each for each in positions.values() if not each.idle]
        limit = min(ceiling, _own_limit(counting, max_drift_ms))
        most = max(LEAST_KEPT, MOST_KEPT // max(1, len(positions)))
        pause, resume = [], []
        for key, each in positions.items():
            if each.paused and each.kept <= most // 2:
                resume.append(key)
            elif not each.paused and each.kept > most:
                pause.append(key)
        return cls(limit, tuple(pause), tuple(resume), most)


def _own_limit(counting: list[Position], max_drift_ms: int) -> int:
    limit = add(min((each.watermark for each in counting), default=MAX), max_drift_ms)
    times = [each.next_time for each in counting if each.next_time is not None]
    if counting and len(times) == len(counting):
        return max(limit, min(times))
    return limit
