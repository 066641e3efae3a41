"""Commits of positions to Kafka: when they are due, and what has to be committed.

A commit that nobody waits for may fail, and Kafka's client says so later. What failed goes with the
next commit.
"""

from collections.abc import Callable, Mapping

from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.reading.split import Key


class Commits:
    """`interval_ms`: None where the program alone commits. `now_ms`: monotonic."""

    def __init__(self, client: KafkaClient, interval_ms: int | None, now_ms: Callable[[], int]) -> None:
        self._client, self._interval_ms, self._now_ms = client, interval_ms, now_ms
        self._committed: dict[Key, int] = {}
        self._committed_at = now_ms()

    def is_due(self, *, changed: bool) -> bool:
        """Return whether to commit now. `changed`: other splits are held than before. What is given
        back is committed before another reader has it, and not later.
        """
        if self._interval_ms is None:
            return False
        return changed or self._now_ms() - self._committed_at >= self._interval_ms

    def commit(self, positions: Mapping[Key, int], *, wait: bool) -> None:
        """Commit these offsets, without those that are words. Raises `KafkaFailed`."""
        for key in self._client.failed_commits():
            self._committed.pop(key, None)
        news = {key: at for key, at in positions.items() if at >= 0 and self._committed.get(key) != at}
        self._client.commit(news, wait=wait)
        self._committed.update(news)
        self._committed_at = self._now_ms()
