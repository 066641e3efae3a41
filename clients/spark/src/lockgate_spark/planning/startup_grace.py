"""Makes a query wait for splits whose producers have not shown their lag yet: no record has proved
how far the producer is behind the clock (`lockgate.plan.producer_lag`).

Spark's watermark never falls. Suppose that the first batch of a new query reads one partition up to
the clock, while the producer of another one is half an hour behind. Then rows of that half hour are
lost, no matter how soon the producer shows its lag. So when a split with an unknown lag first
limits a plan, the query waits inside Spark's call and watches whether the split's log grows.
`processAllAvailable()` and a run under `availableNow` take a few seconds longer, and still read
everything. If the producer has not shown its lag by the end of the wait, the split counts as
silent, and this is kept beside the checkpoint.

**The length of the wait** depends on when the split was last appended to, which an event time does
not show, because a producer may be hours behind. The wait is short if nothing was appended lately,
as far as Kafka shows (`Traces`). Otherwise it is longer, and longest for a split whose records come
some seconds apart. During the wait, plans assume a lag of a day (`UNKNOWN_MS`), so records that are
older than a day are read at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ProducerLag
from lockgate_spark.logs.requests import KafkaRequests
from lockgate_spark.logs.topics import topic_of
from lockgate_spark.logs.unread import Key, Unread

UNKNOWN_MS = 86_400_000
"""The lag (ms) that plans assume for a producer that has shown none yet."""

WATCH_S = 5.0
SHORT_WATCH_S = 2.0
LONGEST_WATCH_S = 30.0
_ENOUGH = 4  # the fewest offsets between two records from which an average distance is computed
_GAPS = 1.5  # a split whose records are so far apart shows itself within so many gaps


@dataclass(frozen=True, slots=True)
class Traces:
    """The signs in a split's log of when records were last appended. Times are in ms.

    Attributes:
        newest: The highest event time; None in an empty log.
        still_since: Time since which the log is known not to have grown.
        stamped_at: Time at which Kafka stamped the newest record; None if producers stamp records.
        apart_ms: The average time between two records; 0 if too few are known.
    """

    newest: int | None
    still_since: int
    stamped_at: int | None = None
    apart_ms: float = 0.0

    def watch_s(self, now: int, recent_ms: int, far_ms: int) -> float:
        """Return how long (s) to watch the split from `now` (wall clock in ms) on.

        The wait is `SHORT_WATCH_S` if the log is empty, if the last append is more than `recent_ms`
        ago, or if the last record is more than `far_ms` old: no other split waits for such a
        producer.
        """
        silent = self.still_since < now - recent_ms
        stamped_long_ago = self.stamped_at is not None and self.stamped_at < now - recent_ms
        if silent or stamped_long_ago or self.newest is None or self.newest < now - far_ms:
            return SHORT_WATCH_S
        gaps_s = _GAPS * self.apart_ms / 1000
        return gaps_s if WATCH_S < gaps_s <= LONGEST_WATCH_S else WATCH_S


def traces_of(keys: Iterable[Key], unread: Unread, lags: Mapping[Key, ProducerLag]) -> dict[Key, Traces]:
    """Return the `Traces` of the splits `keys`, when the wait for them begins.

    Kafka shows when records were last appended if it stamps them itself
    (`message.timestamp.type=LogAppendTime`). Otherwise, only the growth of the log does.
    """
    wanted = set(keys)
    newest, heads = unread.highest(), unread.heads()
    stamps, last = dict[Key, int](), dict[Key, Head]()
    for i in {i for i, _ in wanted}:
        log, ends = unread.sources[i].log, unread.ends[i]
        stamps |= {(i, split): at for split, at in _stamps(log.requests).items()}
        last |= {(i, split): head for split, head in log.last_met(ends).items()}
    return {
        key: Traces(
            newest.get(key),
            max(lags[key].state.met_at, lags[key].state.moved_at),
            stamps.get(key),
            _apart_ms(heads.get(key), last.get(key)),
        )
        for key in wanted
    }


def _apart_ms(first: Head | None, last: Head | None) -> float:
    """Return the average time (ms) between two records; 0 if they are too few."""
    if first is None or last is None or last.offset - first.offset < _ENOUGH:
        return 0.0
    return (last.event_time - first.event_time) / (last.offset - first.offset)


def _stamps(requests: KafkaRequests) -> dict[str, int]:
    """Return when (ms) the newest record of each split was appended, if Kafka stamps its topic's
    records.
    """
    asked = requests.topic_configs({topic_of(split) for split in requests.order}, ("message.timestamp.type",))
    stamped = {line.partition("\t")[0] for line in asked if line.endswith("\tLogAppendTime")}
    found = (requests.highest() or {}) if stamped else {}
    return {split: head.event_time for split, head in found.items() if topic_of(split) in stamped}
