"""A map from keys to numbers that finds its lowest number without a scan.

Watermarks mostly rise, and the lowest one seldom changes. So each key has one entry in a heap: a
*bound* at or below the key's value. A rise of the value does not touch the entry. When an entry
comes to the top of the heap, the key's value is looked up:

* If the value equals the bound, it is the lowest number.
* If the value has risen, the entry sinks to its new place.
* If the key is gone, the entry is dropped.

If a value falls below its bound, it gets a new entry, and the old one is dropped at the top. So a
rise or a removal takes O(1), a fall O(log n), and `lowest` O(log n) on average. Flink has a
`HeapPriorityQueue` for this.
"""

import heapq
from typing import Any, Generic, TypeVar

_SLACK = 64

K = TypeVar("K", bound=Any)  # hashable and ordered, since the heap compares the keys of equal numbers


class Lowest(Generic[K]):
    """Numbers by key, with quick access to the lowest one."""

    __slots__ = ("_bounds", "_heap", "_values")

    def __init__(self) -> None:
        self._values: dict[K, int] = {}
        self._bounds: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def set(self, key: K, value: int) -> None:
        self._values[key] = value
        bound = self._bounds.get(key)
        if bound is None or value < bound:
            self._bounds[key] = value
            heapq.heappush(self._heap, (value, key))
            if len(self._heap) > 2 * len(self._values) + _SLACK:
                self._rebuild()

    def discard(self, key: K) -> None:
        self._values.pop(key, None)

    def lowest(self) -> int | None:
        """Return the least number, or None if there are no numbers."""
        while self._heap:
            bound, key = self._heap[0]
            if self._bounds.get(key) != bound:  # The entry is from before the number fell.
                heapq.heappop(self._heap)
                continue
            value = self._values.get(key)
            if value is None:
                heapq.heappop(self._heap)
                del self._bounds[key]
            elif value > bound:
                self._bounds[key] = value
                heapq.heapreplace(self._heap, (value, key))
            else:
                return value
        return None

    def _rebuild(self) -> None:
        self._bounds = dict(self._values)
        self._heap = [(value, key) for key, value in self._values.items()]
        heapq.heapify(self._heap)
