"""A generator that marks its output idle if no events come (Flink's `WatermarksWithIdleness`).

Operators downstream do not wait for an idle output. Without idleness, one empty partition stops the
event time of a whole job. The rules:

1. Only the periodic probes (calls of `on_periodic_emit`) read the clock. A probe after an event
   resets the timer. A probe without a new event is *quiet*. The first quiet probe starts the timer.
   A later one marks the output idle if strictly more than the timeout has passed since then. So
   idleness takes at least three probes after an event, or two if there has never been one.
2. The output is marked idle once. Until the next event, probes do not call the inner generator.
3. The next event ends this state, but does not mark the output active. The next watermark that
   rises does.
4. The clock must not run while the split cannot be read (`clocks.PausableClock`).
5. Flink uses 0 for "not running". So if the clock shows exactly 0 when the timer should start, the
   timer starts one probe later.

In an alignment group, silence alone does not prove that nothing is to come, so idle splits are
defined differently there (`lockgate.plan.model`).
"""

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import RelativeClock
from lockgate.flink.elements import WatermarkOutput
from lockgate.flink.generators import WatermarkGenerator


def checked_timeout(timeout: Duration) -> Duration:
    """Return `timeout`. Raises `InvalidValue` if it is 0 or less."""
    if timeout.nanos <= 0:
        raise InvalidValue("idle_timeout", f"must be more than 0, not {timeout}")
    return timeout


class IdlenessTimer:
    """A timer that detects by rule 1 that no event has come for longer than `timeout`.

    The generator calls `activity` for each event, and `check_if_idle` at each probe.
    `check_if_idle` returns True if an earlier quiet probe has started the timer more than `timeout`
    ago. Raises `InvalidValue` if `timeout` is 0 or less.
    """

    __slots__ = ("_active", "_clock", "_timeout_nanos", "start_of_inactivity_nanos")

    def __init__(self, clock: RelativeClock, timeout: Duration) -> None:
        self._clock = clock
        self._timeout_nanos = checked_timeout(timeout).to_nanos()
        self._active = False
        self.start_of_inactivity_nanos = 0  # 0: not running

    def activity(self) -> None:
        self._active = True

    def check_if_idle(self) -> bool:
        if self._active:
            self._active = False
            self.start_of_inactivity_nanos = 0
            return False
        if self.start_of_inactivity_nanos == 0:
            self.start_of_inactivity_nanos = self._clock.relative_nanos()
            return False
        return self._clock.relative_nanos() - self.start_of_inactivity_nanos > self._timeout_nanos


class WatermarksWithIdleness(WatermarkGenerator):
    """A generator that wraps `inner`, and marks the output idle after `timeout` without events.
    `clock` measures this time. Raises `InvalidValue` if `timeout` is 0 or less.
    """

    def __init__(self, inner: WatermarkGenerator, timeout: Duration, clock: RelativeClock) -> None:
        self.inner = inner
        self.timer = IdlenessTimer(clock, timeout)
        self.is_idle_now = False
        self.only_highest_counts = inner.only_highest_counts

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        self.inner.on_event(event, timestamp, output)
        self.timer.activity()
        self.is_idle_now = False

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Let `inner` emit or, once after `timeout` without events, mark the output idle."""
        if not self.timer.check_if_idle():
            self.inner.on_periodic_emit(output)
        elif not self.is_idle_now:
            output.mark_idle()
            self.is_idle_now = True
