"""Clocks and timers that are passed as arguments.

Nothing in this package reads a wall clock. A class that needs time takes a `RelativeClock`, or a
`ProcessingTime` if it needs timers, too. The clock counts nanoseconds since an arbitrary start, so
only differences have a meaning. Processing time counts milliseconds, and calls back at a set time.
`VirtualTime` is moved by hand, so tests run hours of event time in milliseconds, and in the same
way each time.

A `PausableClock` hides the time in which its owner could make no progress (Flink's
`PausableRelativeClock`). So a split that alignment pauses, or a source under back pressure, does
not become idle. Pauses nest: a clock that is paused twice goes on after two resumes.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lockgate.duration import NANOS_PER_MILLI
from lockgate.errors import InvalidValue, WrongState

TimerCallback = Callable[[int], None]
"""A function that is called with the time (ms) for which the timer was set."""


class RelativeClock(Protocol):
    """A clock. Only differences between its values have a meaning."""

    def relative_nanos(self) -> int:
        """Return the time in nanoseconds."""


class Timer(Protocol):
    """A timer that was set."""

    def cancel(self) -> None:
        """Stop the timer: it does not fire again. A second call changes nothing."""


class ProcessingTime(RelativeClock, Protocol):
    """The time now, and timers that call back at a set time (Flink's `ProcessingTimeService`)."""

    def now_ms(self) -> int:
        """Return the processing time in ms."""

    def set_timer(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` once, at `at_ms`, or soon if that time has passed."""

    def repeat(self, period_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` every `period_ms`, first in `period_ms` from now."""


class PausableClock:
    """A clock over another one. While it is paused, its time does not change."""

    __slots__ = ("_base", "_paused_at", "_pauses", "_stood_still")

    def __init__(self, base: RelativeClock) -> None:
        self._base = base
        self._stood_still = 0
        self._paused_at = 0
        self._pauses = 0

    def relative_nanos(self) -> int:
        """Return the time in nanoseconds without the time spent paused."""
        now = self._paused_at if self._pauses else self._base.relative_nanos()
        return now - self._stood_still

    @property
    def is_paused(self) -> bool:
        """Return whether at least one pause is still open."""
        return self._pauses > 0

    def pause(self) -> None:
        """Stop the clock. Each pause needs a resume of its own."""
        if not self._pauses:
            self._paused_at = self._base.relative_nanos()
        self._pauses += 1

    def resume(self) -> None:
        """End one pause. Raises `WrongState` when the clock is running."""
        if not self._pauses:
            raise WrongState("the clock is running: resume() needs a pause() before it")
        self._pauses -= 1
        if not self._pauses:
            self._stood_still += self._base.relative_nanos() - self._paused_at


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
    """A clock and its timers, moved by hand. Due timers fire in the order of their times, then in
    the order in which they were set.
    """

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
        """Let `ms` pass, and fire each due timer. During a callback `now_ms` is the time of its
        timer.
        """
        self.advance_to(self.now_ms() + ms)

    def advance_to(self, at_ms: int) -> None:
        """Go on to `at_ms`, and fire each due timer. Raises `InvalidValue` for a time that has
        passed.
        """
        if at_ms < self.now_ms():
            raise InvalidValue("at_ms", f"must not lie before now ({self.now_ms()}), but is {at_ms}")
        while self._timers and self._timers[0].at_ms <= at_ms:
            self._fire(heapq.heappop(self._timers))
        self._nanos = at_ms * NANOS_PER_MILLI

    def jump_to(self, at_ms: int) -> None:
        """Go to `at_ms` at once, and then fire the overdue timers, as a machine does that was too
        busy to fire them in time.
        """
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
