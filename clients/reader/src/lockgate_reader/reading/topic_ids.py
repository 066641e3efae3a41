"""Whether a topic is still the one that is read.

A topic that is deleted and made anew under its name has another id (KIP-516), and its offsets begin
again. A position in the former one says nothing of it. Kafka is asked when a reader begins, and at
least every ten seconds from then on; nobody waits for the answer.

A change that happened before the reader began is not seen: positions come without an id. Nor is one
where the broker knows no ids.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lockgate_reader.kafka.logs import id_of

EVERY_MS = 10_000


class TopicIds:
    """`ask`: what Kafka says of topics, as futures. `now_ms`: monotonic. `discovery_ms`: how often
    new partitions are looked for; 0: never.
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
        """Learn the ids, before any position is taken. What is not answered is asked again."""
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
        """Return whether the topic was made anew, as far as Kafka says now."""
        self._asked = {}  # an answer of before would tell it a second time
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
