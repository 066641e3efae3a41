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
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lockgate_spark.logs.unread import Key

UNKNOWN_MS = 86_400_000
"""How far behind the clock a producer may be that has shown nothing yet."""

WATCH_S = 5.0
SHORT_WATCH_S = 2.0
LONGEST_WATCH_S = 30.0
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
