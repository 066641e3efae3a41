"""Detects that a topic was deleted and created again.

The new topic has another id (KIP-516), and its offsets start again, so a position in the former
topic means nothing in it. Kafka is asked for the ids when a reader starts, and at least every ten
seconds from then on. Reading does not wait for the later answers.

A change before the reader started is not detected, because positions have no topic id. Neither is a
change if the broker does not have ids.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lockgate_reader.kafka.logs import id_of

EVERY_MS = 10_000


class TopicIds:
    """The ids of `topics`. `ask` asks Kafka, and returns a future for each topic. The ids are asked
    for every `discovery_ms` by the monotonic clock `now_ms`, or every `EVERY_MS` if that is shorter
    or `discovery_ms` is 0.
    """

    def __init__(
        self,
        ask: Callable[[Iterable[str]], dict[str, Any]],
        topics: Sequence[str],
        now_ms: Callable[[], int],
        discovery_ms: int,
    ) -> None:
        self._ask, self._topics, self._now_ms = ask, topics, now_ms
        self._every_ms = min(EVERY_MS, discovery_ms or EVERY_MS)
        self._ids: dict[str, str] = {}
        self._asked: dict[str, Any] = {}
        self._next_ms = now_ms() + self._every_ms

    def begin(self) -> None:
        """Fetch the ids before any position is used. Missing answers are asked for again later."""
        self._learn(self._ask(self._topics))

    def look(self) -> list[str]:
        """Return the topics that were created again since the last answer, and ask again if it is
        time.
        """
        now = self._now_ms()
        if not self._asked and now >= self._next_ms:
            self._asked = self._ask(self._topics)
        if not self._asked or not all(future.done() for future in self._asked.values()):
            return []
        asked, self._asked = self._asked, {}
        self._next_ms = now + self._every_ms
        return self._learn(asked)

    def is_another(self, topic: str) -> bool:
        """Ask Kafka now, and return whether the topic was created again."""
        self._asked = {}  # an earlier answer would report it a second time
        return bool(self._learn(self._ask([topic])))

    def _learn(self, asked: dict[str, Any]) -> list[str]:
        anew = []
        for topic, future in asked.items():
            found = id_of(future)
            if found is not None:  # else it is asked again later
                if self._ids.setdefault(topic, found) != found:
                    anew.append(topic)
                self._ids[topic] = found
        return anew
