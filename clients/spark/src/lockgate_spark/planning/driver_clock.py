"""The clock of one run's plans. It follows the driver's clock, unless a jump or new records show
that the driver's clock is wrong, which is logged. The rule is in `lockgate.plan.clock`.
"""

import logging
from collections.abc import Callable, Mapping

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.clock import STOOD_MS, PlanClock
from lockgate_spark.logs.unread import Key

log = logging.getLogger("lockgate")

_LEAST_TOLD_MS = 5_000


class DriverClock:
    """The clock of one run's plans. `clock` is the wall clock and `ticks` a monotonic clock, both
    in seconds.
    """

    def __init__(self, clock: Callable[[], float], ticks: Callable[[], float]) -> None:
        self._wall, self.ticks = clock, ticks
        self._clock = PlanClock()
        self._jumped = self._told = 0

    def __call__(self) -> float:
        """Return the time for plans, in seconds since 1970."""
        wall_ms = int(self._wall() * 1000)
        now = self._clock.look(wall_ms, int(self.ticks() * 1000))
        self._tell_jump(wall_ms, now)
        self._tell_offset()
        return now / 1000

    @property
    def steady(self) -> bool:
        """Whether the wall clock keeps pace with the monotonic clock. This is false after a jump of
        the wall clock, until the jump is undone or accepted.
        """
        return not self._clock.jumped

    @property
    def moved(self) -> int:
        """How far (ms) this clock has been shifted in total."""
        return self._clock.moved

    def show(self, ahead: Mapping[Key, int]) -> None:
        """Correct the clock by new records. `ahead` is how far (ms) each split's new records are
        ahead of the time that this clock returned last, negative if they are behind it.
        """
        self._clock.show(ahead)
        self._tell_offset()

    def _tell_jump(self, wall_ms: int, now: int) -> None:
        before, self._jumped = self._jumped, self._clock.jumped
        if self._jumped and not before:
            log.warning(
                "the driver's clock jumped by %s to %s: plans continue from %s, and follow the clock once it has "
                "been steady for %s",
                spoken(self._jumped),
                watermark.instant(wall_ms),
                watermark.instant(now),
                spoken(STOOD_MS),
            )
        elif before and not self._jumped:
            log.info(
                "the driver's clock is steady again at %s; plans continue from %s",
                *map(watermark.instant, (wall_ms, now)),
            )

    def _tell_offset(self) -> None:
        behind = self._clock.behind
        if abs(behind - self._told) < max(_LEAST_TOLD_MS, abs(self._told) // 10):
            return
        self._told = behind
        if behind > 0:
            log.warning(
                "the driver's clock is about %s behind: all new records are stamped at least that far ahead of it. "
                "Plans use the records' time instead. Synchronise the clock (NTP). If it is right, the producers' "
                "clocks are ahead",
                spoken(behind),
            )
        elif behind < 0:
            log.warning(
                "the driver's clock is about %s ahead of the new records. Plans use the records' time instead. "
                "Synchronise the clock (NTP)",
                spoken(-behind),
            )
        else:
            log.info("the driver's clock agrees with the records again, and plans use it")
