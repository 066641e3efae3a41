"""How long a query waits for a split whose producer has shown nothing yet.

Spark's watermark never falls. Suppose that the first batch of a new query reads one partition up to
the clock, while the producer of another is half an hour behind. Then that half hour is lost,
however soon the producer shows its lag. So the first time that such a split would hold something
back, the query waits *inside* its plan and looks whether the split's log grows.
`processAllAvailable()` and a run under `availableNow` take a few seconds longer, and still read
everything. After the wait the split counts as silent, and that is remembered beside the checkpoint.

The wait is longer for a split that had a record lately: its producer may commit now and then. A
record that is more than a day old is never held.
"""

import time
from collections.abc import Callable, Iterable, Mapping

from lockgate.watermark import MIN
from lockgate_spark.logs.unread import Key

UNKNOWN_MS = 86_400_000
"""How far behind the clock a producer may be that has shown nothing yet."""

CARE_S = 5.0
SHORT_CARE_S = 2.0


class Care:
    """The waits of one run. `ticks`: a monotonic clock, in seconds."""

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._until: dict[Key, float] = {}

    def begin(self, unknown: Iterable[Key], highest: Mapping[Key, int], recent: int) -> None:
        """Starts the wait, because a record is held back. `unknown`: the splits that have shown
        nothing. `highest`: the highest event times (ms) in their logs. `recent`: a split with a
        later event time (ms) had a record lately.
        """
        for key in unknown:
            if key not in self._until:
                self._until[key] = self._ticks() + (CARE_S if highest.get(key, MIN) >= recent else SHORT_CARE_S)

    def goes_on(self) -> bool:
        """Whether a split is still waited for."""
        now = self._ticks()
        return any(until > now for until in self._until.values())

    def take_over(self) -> list[Key]:
        """The splits whose wait is over; each is returned once."""
        now = self._ticks()
        over = [key for key, until in self._until.items() if until <= now]
        for key in over:
            del self._until[key]
        return over

    def end(self, key: Key) -> None:
        """The split has shown itself."""
        self._until.pop(key, None)
