"""Event-time timers (Flink's `InternalTimerService`).

A timer is set for an event time, under a key and a namespace that the operator chooses, such as a
window. A timer fires once the watermark reaches the timer's event time.

* All due timers fire *before* the watermark goes on, so that nothing they emit is late downstream.
* They fire in the order of their times. Timers with equal times fire in the order in which they
  were set, which Flink leaves open.
* If a timer that fires sets another timer that is already due, the new timer fires before the same
  watermark goes on.
"""

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from lockgate.watermark import MIN


@dataclass(frozen=True, slots=True)
class EventTimer:
    """A timer that fires when the watermark reaches `timestamp` (ms)."""

    timestamp: int
    key: Hashable = None
    namespace: Hashable = None


@dataclass(order=True, slots=True)
class _Entry:
    timestamp: int
    sequence: int
    timer: EventTimer = field(compare=False)


class EventTimers:
    """The timers of one operator. `on_event_time` is called with each timer that fires."""

    def __init__(self, on_event_time: Callable[[EventTimer], None]) -> None:
        self._on_event_time = on_event_time
        self._heap: list[_Entry] = []
        self._set: dict[EventTimer, int] = {}
        self._sequence = 0
        self.watermark = MIN

    def __len__(self) -> int:
        return len(self._set)

    def set(self, timer: EventTimer) -> None:
        """Set a timer, unless it is set already. A timer that is already due fires at the next
        watermark, or at the current one if `advance` is still firing timers.
        """
        if timer not in self._set:
            self._set[timer] = self._sequence
            heapq.heappush(self._heap, _Entry(timer.timestamp, self._sequence, timer))
            self._sequence += 1

    def delete(self, timer: EventTimer) -> None:
        self._set.pop(timer, None)

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        while self._heap and self._heap[0].timestamp <= watermark:
            entry = heapq.heappop(self._heap)
            # The timer was not deleted since, nor deleted and set again.
            if self._set.get(entry.timer) == entry.sequence:
                del self._set[entry.timer]
                self._on_event_time(entry.timer)
