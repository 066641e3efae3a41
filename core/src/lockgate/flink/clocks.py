"""The clocks and timers that this package takes as arguments, since it never reads a wall clock.

* A `RelativeClock` counts nanoseconds from an arbitrary start.
* `ProcessingTime` also has the time in milliseconds, and timers.
* A `PausableClock` (Flink's `PausableRelativeClock`) leaves out the time for which it was paused.
  So a split that alignment pauses, or a source under back pressure, does not become idle.
"""

from collections.abc import Callable
from typing import Protocol

from lockgate.errors import WrongState

TimerCallback = Callable[[int], None]
"""A function that is called with the time (ms) for which the timer was set."""


class RelativeClock(Protocol):
    """A clock that counts from an arbitrary start, for measuring how long something takes."""

    def relative_nanos(self) -> int:
        """Return the time since the start of this clock, in nanoseconds."""


class Timer(Protocol):
    """A timer that was set and can be cancelled."""

    def cancel(self) -> None:
        """Cancel the timer. Further calls have no effect."""


class ProcessingTime(RelativeClock, Protocol):
    """The processing time, and timers that follow it (Flink's `ProcessingTimeService`)."""

    def now_ms(self) -> int:
        """Return the current processing time in ms."""

    def set_timer(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` once, at the processing time `at_ms`, or soon if that time has passed."""

    def repeat(self, period_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` after each `period_ms` until the returned timer is cancelled."""


class PausableClock:
    """A clock that follows `base` and can be paused. Each `pause` needs its own `resume`."""

    __slots__ = ("_base", "_paused_at", "_pauses", "_stood_still")

    def __init__(self, base: RelativeClock) -> None:
        self._base = base
        self._stood_still = 0
        self._paused_at = 0
        self._pauses = 0

    def relative_nanos(self) -> int:
        """Return the time of `base` in nanoseconds, less the time that this clock spent paused."""
        now = self._paused_at if self._pauses else self._base.relative_nanos()
        return now - self._stood_still

    @property
    def is_paused(self) -> bool:
        return self._pauses > 0

    def pause(self) -> None:
        """Stop the clock until `resume` has been called once for each call of `pause`."""
        if not self._pauses:
            self._paused_at = self._base.relative_nanos()
        self._pauses += 1

    def resume(self) -> None:
        """End one pause. Raises `WrongState` if the clock is running."""
        if not self._pauses:
            raise WrongState("the clock is running: resume() needs a pause() before it")
        self._pauses -= 1
        if not self._pauses:
            self._stood_still += self._base.relative_nanos() - self._paused_at
