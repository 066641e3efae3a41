"""How long a query waits for a split whose producer has shown nothing yet.

Spark's watermark never falls. Suppose that the first batch of a new query reads one partition up to
the clock, while the producer of another is half an hour behind. Then that half hour is lost,
however soon the producer shows its lag. So the first time that such a split would hold something
back, the query waits *inside* its plan and looks whether the split's log grows.
`processAllAvailable()` and a run under `availableNow` take a few seconds longer, and still read
everything. After the wait the split counts as silent, and that is remembered beside the checkpoint.

**How long** goes by when the split was appended to, which an event time does not tell: a producer
may be hours behind. The wait is short where nothing was appended lately, as far as Kafka tells
(`Traces`), and for a split whose last record is so old that nobody would wait for its producer.
Else it is longer, and longest for a split whose records are some seconds apart. A record that is
more than a day old is never held.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ProducerLag
from lockgate_spark.logs.requests import KafkaRequests
from lockgate_spark.logs.topics import topic_of
from lockgate_spark.logs.unread import Key, Unread

UNKNOWN_MS = 86_400_000
"""How far behind the clock a producer may be that has shown nothing yet."""

WATCH_S = 5.0
SHORT_WATCH_S = 2.0
LONGEST_WATCH_S = 30.0
_ENOUGH = 4  # offsets between two records that tell how far apart records are
_GAPS = 1.5  # a split whose records are so far apart shows itself within so many gaps


@dataclass(frozen=True, slots=True)
class Traces:
    """What a split's log tells of when it was appended to. Times in ms.

    `newest`: the highest event time; None in an empty log. `still_since`: since when the log is
    known to have ended where it ends now. `stamped_at`: when Kafka stamped the newest record; None
    where producers do. `apart_ms`: how far apart the records are on average; 0 where too few are
    known.
    """

    newest: int | None
    still_since: int
    stamped_at: int | None = None
    apart_ms: float = 0.0

    def watch_s(self, now: int, recent_ms: int, far_ms: int) -> float:
        """How long (s) to watch the split at `now`. `recent_ms`: what was appended within this time
        was appended lately. `far_ms`: a producer that is further behind is not waited for.
        """
        silent = self.still_since < now - recent_ms
        stamped_long_ago = self.stamped_at is not None and self.stamped_at < now - recent_ms
        if silent or stamped_long_ago or self.newest is None or self.newest < now - far_ms:
            return SHORT_WATCH_S
        gaps_s = _GAPS * self.apart_ms / 1000
        return gaps_s if WATCH_S < gaps_s <= LONGEST_WATCH_S else WATCH_S


def traces_of(keys: Iterable[Key], unread: Unread, lags: Mapping[Key, ProducerLag]) -> dict[Key, Traces]:
    """Return the traces of some splits, looked up once, when the wait for these splits begins.

    Kafka says when records were last appended if it stamps them itself
    (`message.timestamp.type=LogAppendTime`), even if event time is in the payload. Otherwise only
    the log's end shows it, by whether it moves.
    """
    wanted = set(keys)
    newest, heads = unread.highest(), unread.heads()
    stamps: dict[Key, int] = {}
    last: dict[Key, Head] = {}
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
    """How far apart the records between these two are on average."""
    if first is None or last is None or last.offset - first.offset < _ENOUGH:
        return 0.0
    return (last.event_time - first.event_time) / (last.offset - first.offset)


def _stamps(requests: KafkaRequests) -> dict[str, int]:
    """When the newest record of each split was appended, where Kafka stamps the topic's records."""
    asked = requests.topic_configs({topic_of(split) for split in requests.order}, ("message.timestamp.type",))
    stamped = {line.partition("\t")[0] for line in asked if line.endswith("\tLogAppendTime")}
    found = (requests.highest() or {}) if stamped else {}
    return {split: head.event_time for split, head in found.items() if topic_of(split) in stamped}


class StartupGrace:
    """The waits of one run. `ticks`: a monotonic clock, in seconds."""

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._until: dict[Key, float] = {}

    def watches(self, key: Key) -> bool:
        """Return whether the wait for a split has begun."""
        return key in self._until

    def begin(self, watch_s: Mapping[Key, float]) -> None:
        """Start the waits, since a record is held back.

        `watch_s`: how long (s) each split that has shown nothing is watched.
        """
        now = self._ticks()
        self._until = {key: now + seconds for key, seconds in watch_s.items()} | self._until

    def goes_on(self) -> bool:
        """Return whether a split is still waited for."""
        now = self._ticks()
        return any(until > now for until in self._until.values())

    def take_over(self) -> list[Key]:
        """Return the splits whose wait is over, each once."""
        now = self._ticks()
        over = [key for key, until in self._until.items() if until <= now]
        for key in over:
            del self._until[key]
        return over

    def end(self, key: Key) -> None:
        """End the wait for a split that has shown itself."""
        self._until.pop(key, None)
