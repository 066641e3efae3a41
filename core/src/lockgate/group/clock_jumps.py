"""Clock jumps: no lease ends early because the store's clock was put forward.

Leases run by the store's clock, since all processes see it. But that clock may be set, or another
server with another clock may take over. A process has a monotonic clock as well, which has no date
but never jumps. So each process compares the two whenever the store answers.

**Detection.** The store's time t was read between the monotonic times a (sent) and b (received). So
the store's clock was ahead of the monotonic one by t − b at least and t − a at most. If the
ranges of two answers do not overlap, even with a margin for clocks that run unevenly, the clock has
jumped. A slow answer gives wide bounds, which do not replace narrower bounds from earlier answers.

**Correction.** The process moves all times of a group forward by the largest jump that the bounds
allow: leases, parking, waits, the grace of a new group. No time is moved beyond the moment at which
the jump was noticed. So no time lies further in the past than the monotonic clock shows, and no
lease ends early. Times from after the jump are moved as well, since they cannot be distinguished
from earlier ones. The correction lets no lease end later than one lease after the last process
noticed the jump.

A clock that is put back makes leases longer, never shorter. The rule in `leases` corrects them with
the next command. Two cases go unnoticed: a jump before the first comparison of a process, and a
clock that goes back and forward again between two comparisons while another process serves readers.
"""

from collections.abc import Iterable
from functools import partial
from math import ceil

from lockgate.group.group import Group
from lockgate.group.leases import with_times_moved
from lockgate.group.now import ClockJump

UNNOTICED_MS = 50
"""A smaller jump is attributed to clocks that run unevenly."""

UNEVEN = 0.001
"""The fraction by which one clock may run faster than the other: twice the limit of NTP."""

JUMPS_KEPT = 16


class StoreClock:
    """A store's clock as one process sees it, with the `jumps` that the process has noticed."""

    def __init__(self) -> None:
        self.jumps: tuple[ClockJump, ...] = ()
        self._low = self._high = 0.0
        self._observed_ms: float | None = None

    def observe(self, sent_ms: float, store_ms: int, received_ms: float) -> int:
        """Return by how much (ms) the store's clock has jumped since the last call, or 0.

        A clock that was put back gives a negative number. A jump forward is also added to `jumps`.
        `store_ms` was read between the monotonic times `sent_ms` and `received_ms`.
        """
        low, high = store_ms - received_ms, store_ms + 1 - sent_ms
        jumped = 0
        if self._observed_ms is not None:
            uneven = UNEVEN * max(0.0, received_ms - self._observed_ms)
            was_low, was_high = self._low - uneven, self._high + uneven
            if low > was_high + UNNOTICED_MS:
                jumped = ceil(high - was_low)
                number = self.jumps[-1].number + 1 if self.jumps else 1
                self.jumps = (*self.jumps, ClockJump(number, jumped, store_ms))[-JUMPS_KEPT:]
            elif high < was_low - UNNOTICED_MS:
                jumped = -ceil(was_high - low)
            elif max(low, was_low) <= min(high, was_high):
                low, high = max(low, was_low), min(high, was_high)
        self._low, self._high, self._observed_ms = low, high, received_ms
        return jumped


def after_jumps(group: Group, jumps: Iterable[ClockJump]) -> Group:
    """Return the group with its times moved forward by `jumps`. Takes O(readers) for each jump.

    The result is a new object even if no time was moved, so that the caller stores it and does not
    apply the jumps again.
    """
    for jump in jumps:
        group = with_times_moved(group, partial(later, jump=jump), jump.noticed_ms)
    return group


def later(time_ms: int, jump: ClockJump) -> int:
    """Return `time_ms` moved forward by `jump`, at most to the time when the jump was noticed."""
    return time_ms if time_ms >= jump.noticed_ms else min(time_ms + jump.by_ms, jump.noticed_ms)
