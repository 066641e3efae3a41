"""Finds out which partitions are read to their end, as Kafka confirms.

Silence alone proves nothing, because a broker that does not answer is silent, too. So half a second
after its last answer, Kafka is asked for the ends of all partitions that have no fetched records.
An answer counts for the moment *before* Kafka was asked. Reading does not wait for it.
"""

from collections.abc import Callable, Collection
from typing import Any

from lockgate_reader.place import Key
from lockgate_reader.reading.split import OpenSplit

ASK_AGAIN_MS = 500


class Ends:
    """Asks Kafka for the ends of partitions. `ask` returns a future for each. Clocks are in ms."""

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

    def look(self, splits: Collection[OpenSplit]) -> None:
        """Pass answers on to the splits once all have arrived, and ask again if it is time."""
        now = self._now_ms()
        if self._asked:
            if all(future.done() for future in self._asked.values()):
                for split in splits:
                    future = self._asked.get(split.key)
                    if future is not None and future.exception() is None:
                        split.confirm_end(future.result().offset, self._asked_at)
                self._asked = {}
                self._next_ms = now + ASK_AGAIN_MS
        elif now >= self._next_ms and (keys := [split.key for split in splits if not split.fetched]):
            self._asked_at = (now, self._wall_ms())
            self._asked = self._ask(keys)
