"""The lowest of the last watermarks reported (Flink's `WatermarkAggregator`).

A plain minimum of the last value per key: a value may fall, and then the minimum falls; nothing is
ever removed; empty is MIN. This is Flink's form, kept exactly. What lockgate's own coordinator
answers differently (leases, fencing, readers that are lost) is in its group rules, which stand on
their own.

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
        """Take a key's watermark. The new minimum if that changed it, else None. O(log n)."""
        self._watermarks.set(self._places.setdefault(key, len(self._places)), watermark)
        lowest = self._watermarks.lowest()
        if lowest is None or lowest == self.aggregated:
            return None
        self.aggregated = lowest
        return lowest

    def keys(self) -> list[K]:
        """Everybody who ever reported, in the order of the first report."""
        return list(self._places)
