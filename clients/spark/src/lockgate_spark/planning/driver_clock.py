"""The clock that the plans of one run use (`lockgate.plan.clock`), which logs its corrections."""

import logging
from collections.abc import Callable

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.clock import STOOD_MS, PlanClock

log = logging.getLogger("lockgate")

_LEAST_TOLD_MS = 5_000


class DriverClock(PlanClock):
    """The clock of one run's plans, and a warning each time that it corrects the driver's wall
    clock, `clock`. `ticks` is a monotonic clock; both are in seconds.
    """

    def __init__(self, clock: Callable[[], float], ticks: Callable[[], float]) -> None:
        super().__init__()
        self._wall, self.ticks = clock, ticks
        self._told_jump = self._told = 0

    def __call__(self) -> float:
        """Return the time for plans, in seconds since 1970."""
        wall_ms = int(self._wall() * 1000)
        now, before = self.look(wall_ms, int(self.ticks() * 1000)), self._told_jump
        self._told_jump = self.jumped
        if self.jumped and not before:
            log.warning(
                "the driver's clock jumped by %s to %s: plans continue from %s, and follow the clock once it has "
                "been steady for %s",
                spoken(self.jumped),
                watermark.instant(wall_ms),
                watermark.instant(now),
                spoken(STOOD_MS),
            )
        if abs(self.behind - self._told) >= max(_LEAST_TOLD_MS, abs(self._told) // 10):
            self._told = self.behind
            if self.behind:
                log.warning(
                    "the driver's clock is about %s. Plans use the records' time instead. Synchronise the clock (NTP)"
                    "%s",
                    f"{spoken(self.behind)} behind: all new records are stamped at least that far ahead of it"
                    if self.behind > 0
                    else f"{spoken(-self.behind)} ahead of the new records",
                    ". If it is right, the producers' clocks are ahead" if self.behind > 0 else "",
                )
        return now / 1000
