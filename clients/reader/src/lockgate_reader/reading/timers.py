"""Time for the source operator: a clock and timers that only the reading thread moves.

Nothing here goes by itself. The reader calls `fire_due` between two records. While the program
works on a record, no timer fires, and the operator's clock stands still (`pause`): a program that
is slow makes no split idle. A period that was missed is left out.
"""

from collections.abc import Callable

from lockgate.duration import NANOS_PER_MILLI
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import PausableClock, Timer, TimerCallback


class _Periodic:
    """A timer of `ReaderTime`."""

    __slots__ = ("at_ms", "callback", "cancelled", "period_ms")

    def __init__(self, at_ms: int, period_ms: int | None, callback: TimerCallback) -> None:
        self.at_ms, self.period_ms, self.callback, self.cancelled = at_ms, period_ms, callback, False

    def cancel(self) -> None:
        self.cancelled = True


class _Monotonic:
    """The machine's monotonic clock in ms, as core's `RelativeClock`."""

    __slots__ = ("_now_ms",)

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def relative_nanos(self) -> int:
        return self._now_ms() * NANOS_PER_MILLI


class ReaderTime:
    """Clock and timers over `now_ms`, which is monotonic."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self.clock = PausableClock(_Monotonic(now_ms))
        self._timers: list[_Periodic] = []
        self.next_ms: float = float("inf")

    def relative_nanos(self) -> int:
        """Now, without the time in which the program worked on records."""
        return self.clock.relative_nanos()

    def set_timer(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` once, at the first `fire_due` from `at_ms` on."""
        return self._add(_Periodic(at_ms, None, callback))

    def repeat(self, period_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` at the first `fire_due` after each period. Raises `InvalidValue`."""
        if period_ms <= 0:
            raise InvalidValue("period_ms", "must be more than 0")
        return self._add(_Periodic(self.now_ms() + period_ms, period_ms, callback))

    def fire_due(self, *, early: bool = False) -> None:
        """Call what is due, in the order in which it was set; `early` also calls everything
        periodic.
        """
        now = self.now_ms()
        for timer in tuple(self._timers):
            if timer.at_ms <= now or (early and timer.period_ms is not None):
                due, timer.at_ms = timer.at_ms, now + (timer.period_ms or 0)
                timer.cancelled = timer.cancelled or timer.period_ms is None
                timer.callback(min(due, now))
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        self.next_ms = min((timer.at_ms for timer in self._timers), default=float("inf"))

    def _add(self, timer: _Periodic) -> Timer:
        self._timers.append(timer)
        self.next_ms = min(self.next_ms, timer.at_ms)
        return timer
