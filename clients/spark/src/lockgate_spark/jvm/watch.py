"""Waits for the next record of a Kafka source."""

from collections.abc import Callable, Mapping
from typing import Any

_LIST_MS = 10_000  # the longest wait for the brokers' list of topics


class Watch:
    """Waits for records through a Java `KafkaWatch`. The function `open_` makes it at the first
    use, since a query that never waits for records does not need it.
    """

    def __init__(self, open_: Callable[[], Any]) -> None:
        self._open = open_
        self._java: Any = None
        self._ends: Mapping[str, int] | None = None

    def comes(self, ends: Mapping[str, int], seconds: float) -> bool:
        """Wait at most `seconds` for a record at or beyond `ends`, the end of each split. Return
        whether one has come. Raises the JVM's errors.
        """
        java = self._opened()
        if ends != self._ends:
            java.watch("\n".join("\t".join((*split.rpartition("-")[::2], str(end))) for split, end in ends.items()))
            self._ends = dict(ends)
        return bool(java.comes(int(seconds * 1000)))

    def topics(self) -> list[str]:
        """Return the topics that the source's client has permission to describe. Raises the JVM's
        errors.
        """
        return str(self._opened().topics(_LIST_MS)).splitlines()

    def _opened(self) -> Any:
        if self._java is None:
            self._java = self._open()
        return self._java

    def close(self) -> None:
        """Close the connections to Kafka."""
        if self._java is not None:
            self._java.close()
