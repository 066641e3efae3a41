"""The lowest of the last watermarks reported (Flink's `WatermarkAggregator`).

It is a plain minimum over the last value of each key. A value may fall, and then the minimum falls.
Nothing is ever removed. Without any value the minimum is MIN. This is exactly Flink's form.
lockgate's own coordinator has leases, fencing and lost readers as well; its rules are in
`lockgate.group`.

Used by `lockgate.flink.announcement`, twice: over the subtasks of a source and over the sources of
a group.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from lockgate.lowest import Lowest
from lockgate.watermark import MIN

K = TypeVar("K", bound=Hashable)


class WatermarkAggregator(Generic[K]):
    """The minimum of the last watermark of each key."""

    def __init__(self) -> None:
        self._places: dict[K, int] = {}
        self._watermarks = Lowest[int]()
        self.aggregated = MIN

    def aggregate(self, key: K, watermark: int) -> int | None:
        """Takes a key's watermark. Returns the new minimum, or None where it is unchanged. O(log
        n).
        """
        self._watermarks.set(self._places.setdefault(key, len(self._places)), watermark)
        lowest = self._watermarks.lowest()
        if lowest is None or lowest == self.aggregated:
            return None
        self.aggregated = lowest
        return lowest

    def keys(self) -> list[K]:
        """All keys that ever reported, in the order of their first reports."""
        return list(self._places)
