"""Waits for the next record of a Kafka source."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

_LIST_MS = 10_000  # the longest wait for the brokers' list of topics


class Watch:
    """Waits for records through a Java `KafkaWatch`. The function `open_` makes it at the first
    use, since a query that never waits for records does not need it. The methods raise the JVM's
    errors.
    """

    def __init__(self, open_: Callable[[], Any]) -> None:
        self._open = open_
        self._ends: Mapping[str, int] | None = None

    @cached_property
    def _java(self) -> Any:
        return self._open()

    def comes(self, ends: Mapping[str, int], seconds: float) -> bool:
        """Wait at most `seconds` for a record at or beyond `ends`, the end of each split. Return
        whether such a record has come.
        """
        if ends != self._ends:
            lines = ("\t".join((*split.rpartition("-")[::2], str(end))) for split, end in ends.items())
            self._java.watch("\n".join(lines))
            self._ends = dict(ends)
        return bool(self._java.comes(int(seconds * 1000)))

    def topics(self) -> list[str]:
        """Return the topics that the source's client has permission to describe."""
        return str(self._java.topics(_LIST_MS)).splitlines()

    def close(self) -> None:
        """Close the connections to Kafka."""
        if "_java" in self.__dict__:
            self._java.close()
