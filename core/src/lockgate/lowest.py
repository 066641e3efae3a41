"""The least of many numbers, each under a key of its own, without looking at all of them.

A valve of 100,000 channels must not scan them on each watermark. Watermarks mostly rise, and the
least one changes seldom; so each key has one entry in a heap with a *bound*, a number it was once
at or above. A number that rises leaves its entry alone. Only when the entry comes to the top is it
looked at: still true, it is the answer; risen, it sinks to its new place; gone, it is dropped. A
number that falls below its bound gets a new entry. So a rise costs nothing but a store, a fall or a
removal O(log n), and asking O(log n) on average over the changes that came before. Flink's valve
and aggregator keep a `HeapPriorityQueue` for this.

Used by the valve, the combined status of multiplexer and multi-input operators, the aggregator of
alignment, and a group's readers.
"""

import heapq
from typing import Any, Generic, TypeVar

_SLACK = 64
_FEW = 64
"""Up to how many keys are taken from the heap one by one; beyond that all numbers are looked at,
which is cheaper.
"""

K = TypeVar("K", bound=Any)  # hashable and ordered: equal numbers stand in the order of their keys


class Lowest(Generic[K]):
    """Numbers by key; `lowest()` is the least of them."""

    __slots__ = ("_bounds", "_heap", "_values")

    def __init__(self) -> None:
        self._values: dict[K, int] = {}
        self._bounds: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def set(self, key: K, value: int) -> None:
        """Put `value` under `key`, in place of what was there."""
        self._values[key] = value
        bound = self._bounds.get(key)
        if bound is None or value < bound:
            self._bounds[key] = value
            heapq.heappush(self._heap, (value, key))
            if len(self._heap) > 2 * len(self._values) + _SLACK:
                self._rebuild()

    def discard(self, key: K) -> None:
        """Forget `key`, if it is there."""
        self._values.pop(key, None)

    def lowest(self) -> int | None:
        """The least number, None when there is none."""
        while self._heap:
            bound, key = self._heap[0]
            if self._bounds.get(key) != bound:  # an entry from before the number fell
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

    def first(self, limit: int) -> list[K]:
        """The keys at the least number, in their order, `limit` at most. O(limit log n)."""
        lowest = self.lowest()
        return [] if lowest is None else self._taken(lowest, limit)

    def up_to(self, value: int) -> list[K]:
        """The keys whose number is at most `value`, by number and key. O(found log n), and O(n +
        found log found) where many are found.
        """
        found = self._taken(value, _FEW)
        if len(found) < _FEW:
            return found
        return [key for _, key in sorted((number, key) for key, number in self._values.items() if number <= value)]

    def _taken(self, value: int, limit: int) -> list[K]:
        """What is at the top is true once `lowest` has been asked, so the entries that are wanted
        come out one after the other.
        """
        taken = list[tuple[int, K]]()
        while len(taken) < limit:
            lowest = self.lowest()
            if lowest is None or lowest > value:
                break
            entry = heapq.heappop(self._heap)
            if not taken or taken[-1] != entry:  # two of the same: it fell, rose, and fell again
                taken.append(entry)
        for entry in taken:
            heapq.heappush(self._heap, entry)
        return [key for _, key in taken]

    def fill(self, values: dict[K, int]) -> None:
        """These numbers in the place of all that were there: cheaper than one by one where most of
        them have changed. O(n).
        """
        self._values = values
        self._rebuild()

    def _rebuild(self) -> None:
        self._bounds = dict(self._values)
        self._heap = [(value, key) for key, value in self._values.items()]
        heapq.heapify(self._heap)
