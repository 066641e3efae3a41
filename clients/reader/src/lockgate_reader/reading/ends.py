"""Which splits are read to their end, confirmed by Kafka.

Silence alone proves nothing: a broker that does not answer is silent too. So Kafka is asked, half a
second after its last answer, where the splits end of which nothing is fetched. An answer counts for
the moment *before* Kafka was asked. Nobody waits for it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from lockgate_reader.reading.split import Key, OpenSplit

ASK_AGAIN_MS = 500
FRESH_MS = 3_000
"""For how long an answer counts (ms): longer than a slow answer takes."""


class Ends:
    """Asks for the ends of splits. `ask`: of these partitions, as futures. Clocks are in ms."""

    def __init__(
        self,
        ask: Callable[[list[Key]], dict[Key, Any]],
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
    ) -> None:
        self._ask, self._now_ms, self._wall_ms = ask, now_ms, wall_ms
        self._asked: dict[Key, Any] = {}
        self._asked_at = (0, 0)
        self._next_ms = 0

    def look(self, splits: Iterable[OpenSplit]) -> None:
        """Take in answers, and ask again if it is time."""
        now = self._now_ms()
        if self._asked:
            if all(future.done() for future in self._asked.values()):
                self._take({split.key: split for split in splits})
                self._asked = {}
                self._next_ms = now + ASK_AGAIN_MS
        elif now >= self._next_ms and (keys := [split.key for split in splits if not split.fetched]):
            self._asked_at = (now, self._wall_ms())
            self._asked = self._ask(keys)

    def is_silent(self, split: OpenSplit) -> bool:
        """Return whether the split was read to its end as Kafka said a moment ago."""
        if not split.at_end or split.silent_until is None:
            return False
        return self._now_ms() - split.silent_until[0] <= FRESH_MS

    def silent_ms(self, split: OpenSplit) -> int:
        """For how long the split has been read to its end, ms; 0 where it is not."""
        if split.silent_since is None or not self.is_silent(split):
            return 0
        return self._now_ms() - split.silent_since

    def horizons(self, splits: Iterable[OpenSplit], late_ms: int | None) -> list[tuple[OpenSplit, int]]:
        """Return the watermark (ms) of each split that is read to its end: later records are at
        most as late as its producer may be. None if `late_ms` is None.
        """
        if late_ms is None:
            return []
        return [
            (split, split.silent_until[1] - late_ms - 1)
            for split in splits
            if split.silent_until is not None and self.is_silent(split)
        ]

    def _take(self, splits: dict[Key, OpenSplit]) -> None:
        for key, future in self._asked.items():
            split = splits.get(key)
            if split is not None and future.exception() is None:
                split.confirm_end(future.result().offset, self._asked_at)
