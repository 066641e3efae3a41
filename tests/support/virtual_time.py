"""Time that a test moves by hand, so that hours of event time take milliseconds."""

import heapq
from dataclasses import dataclass, field

from lockgate.duration import NANOS_PER_MILLI
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import Timer, TimerCallback


@dataclass(order=True, slots=True)
class _VirtualTimer:
    at_ms: int
    sequence: int
    callback: TimerCallback = field(compare=False)
    period_ms: int | None = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class VirtualTime:
    """A clock and its timers, moved by hand. Due timers fire in order of time, then of setting."""

    def __init__(self, start_ms: int = 0) -> None:
        self._nanos = start_ms * NANOS_PER_MILLI
        self._timers: list[_VirtualTimer] = []
        self._sequence = 0

    def relative_nanos(self) -> int:
        return self._nanos

    def now_ms(self) -> int:
        return self._nanos // NANOS_PER_MILLI

    def set_timer(self, at_ms: int, callback: TimerCallback) -> Timer:
        return self._push(at_ms, callback, None)

    def repeat(self, period_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` every `period_ms`. Raises `InvalidValue` for a period of 0 or less."""
        if period_ms <= 0:
            raise InvalidValue("period_ms", f"must be more than 0, not {period_ms}")
        return self._push(self.now_ms() + period_ms, callback, period_ms)

    def advance(self, ms: int) -> None:
        """Let `ms` pass and fire due timers. During a callback `now_ms` is the timer's time."""
        self.advance_to(self.now_ms() + ms)

    def advance_to(self, at_ms: int) -> None:
        """Go on to `at_ms` and fire due timers. Raises `InvalidValue` for a past time."""
        if at_ms < self.now_ms():
            raise InvalidValue("at_ms", f"must not lie before now ({self.now_ms()}), but is {at_ms}")
        while self._timers and self._timers[0].at_ms <= at_ms:
            self._fire(heapq.heappop(self._timers))
        self._nanos = at_ms * NANOS_PER_MILLI

    def jump_to(self, at_ms: int) -> None:
        """Go to `at_ms` at once, then fire overdue timers, as a busy machine does."""
        if at_ms < self.now_ms():
            raise InvalidValue("at_ms", f"must not lie before now ({self.now_ms()}), but is {at_ms}")
        self._nanos = at_ms * NANOS_PER_MILLI
        self.advance_to(at_ms)

    def _push(self, at_ms: int, callback: TimerCallback, period_ms: int | None) -> _VirtualTimer:
        timer = _VirtualTimer(at_ms, self._sequence, callback, period_ms)
        self._sequence += 1
        heapq.heappush(self._timers, timer)
        return timer

    def _fire(self, timer: _VirtualTimer) -> None:
        if timer.cancelled:
            return
        self._nanos = max(self._nanos, timer.at_ms * NANOS_PER_MILLI)
        due = timer.at_ms
        # Set again before the call, so that the callback may cancel the timer.
        if timer.period_ms is not None:
            timer.at_ms += timer.period_ms
            heapq.heappush(self._timers, timer)
        timer.callback(due)
