"""Waits for the next record of a Kafka source, in the JVM."""

from collections.abc import Callable, Mapping
from typing import Any


class Watch:
    """`KafkaWatch.java`, opened when it is first needed: a query that never idles has none.
    `open_`: makes it.
    """

    def __init__(self, open_: Callable[[], Any]) -> None:
        self._open = open_
        self._java: Any = None
        self._ends: Mapping[str, int] | None = None

    def comes(self, ends: Mapping[str, int], seconds: float) -> bool:
        """Whether a record comes at or beyond the ends of the splits; waits for it as long as that.
        Raises what the JVM raises.
        """
        if self._java is None:
            self._java = self._open()
        if ends != self._ends:
            self._java.watch(
                "\n".join("\t".join((*split.rpartition("-")[::2], str(end))) for split, end in ends.items())
            )
            self._ends = dict(ends)
        return bool(self._java.comes(int(seconds * 1000)))

    def close(self) -> None:
        """Closes the connections to Kafka."""
        if self._java is not None:
            self._java.close()
