"""Computes the read limit of a reader, and the partitions that Kafka's client should pause.

No record above the read limit is returned. It is the lower of the group's limit and the reader's
own, which is `max_drift` above the lowest watermark of its partitions. While a partition has had no
record yet, its watermark is MIN, and so is the limit. A strategy may put a watermark further below
the next record than `max_drift`, so once the next record of every partition that is not idle is
fetched, the reader's own limit is at least the lowest event time of these.

Kafka's client pauses a partition once the reader has more fetched records of it than its share of
`MOST_KEPT`, and resumes it at half of that. It does not pause earlier, because librdkafka drops the
records that it has fetched ahead of a paused partition, which halves the rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.watermark import MAX, MIN, add
from lockgate_reader.place import Key
from lockgate_reader.reading.split import OpenSplit

MOST_KEPT = 100_000  # how many fetched records of all partitions may wait before partitions are paused
LEAST_KEPT = 500  # the smallest share of these records for one partition


@dataclass(frozen=True, slots=True)
class Admission:
    """The read limit (ms), and the partitions that Kafka's client should pause and resume, because
    more than `most` of their fetched records, or at most half as many, were not returned yet.
    """

    limit: int = MIN
    pause: tuple[Key, ...] = ()
    resume: tuple[Key, ...] = ()
    most: int = LEAST_KEPT

    @classmethod
    def decide(cls, splits: Mapping[Key, OpenSplit], ceiling: int, max_drift_ms: int) -> "Admission":
        """Decide, given the group's read limit `ceiling` (ms)."""
        counting = [split for split in splits.values() if not split.watermark.idle]
        own = add(min((split.watermark.value for split in counting), default=MAX), max_drift_ms)
        times = [time for split in counting if (time := split.next_time) is not None]
        if times and len(times) == len(counting):
            own = max(own, min(times))
        most = max(LEAST_KEPT, MOST_KEPT // max(1, len(splits)))
        pause = tuple(key for key, split in splits.items() if not split.paused and split.kept > most)
        resume = tuple(key for key, split in splits.items() if split.paused and split.kept <= most // 2)
        return cls(min(ceiling, own), pause, resume, most)
