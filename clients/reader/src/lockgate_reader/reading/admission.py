"""The rules of what a reader returns and fetches now: its read limit, and the partitions that
Kafka's client should pause.
"""

from collections.abc import Collection

from lockgate.watermark import MAX, add
from lockgate_reader.reading.split import OpenSplit

MOST_KEPT = 100_000  # how many fetched records of all partitions may wait before partitions are paused
LEAST_KEPT = 500  # the smallest share of these records for one partition


def read_limit(splits: Collection[OpenSplit], ceiling: int, max_drift_ms: int) -> int:
    """Return the event time (ms) above which no record is returned: the lower of the group's limit,
    `ceiling`, and of the reader's own, which is `max_drift_ms` above its lowest watermark.

    While a partition has had no record yet, its watermark is MIN, and so is the limit. A strategy
    may put a watermark further below the next record than `max_drift_ms`, so once the next record
    of every partition that is not idle is fetched, the reader's own limit is at least the lowest
    event time of these.
    """
    counting = [split for split in splits if not split.watermark.idle]
    own = add(min((split.watermark.value for split in counting), default=MAX), max_drift_ms)
    times = [time for split in counting if (time := split.next_time) is not None]
    if times and len(times) == len(counting):
        own = max(own, min(times))
    return min(ceiling, own)


def share(splits: int) -> int:
    """Return how many fetched records of one of the `splits` may wait before it is paused."""
    return max(LEAST_KEPT, MOST_KEPT // max(1, splits))


def turned(splits: Collection[OpenSplit]) -> list[OpenSplit]:
    """Return the splits that Kafka's client should pause, or resume if they are paused.

    It pauses a split once more than its share of records wait, and resumes it at half of that. It
    does not pause earlier, because librdkafka drops the records that it has fetched ahead of a
    paused partition, which halves the rate.
    """
    most = share(len(splits))
    return [split for split in splits if (split.kept <= most // 2 if split.paused else split.kept > most)]
