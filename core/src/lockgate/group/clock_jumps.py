"""Clock jumps: no lease ends because the store's clock was put forward.

Leases run by the store's clock, since all processes see it. But that clock may be set, or another
server may take over with another one. A process has a monotonic clock as well, which has no date
but never jumps. So each process compares the two whenever the store answers.

**Detection.** The store's time t was read between the monotonic times a (sent) and b (received). So
the store's clock was ahead of the monotonic one by t − b at least and t − a at most. Two answers
whose bounds have no number in common, with a margin for clocks that run unevenly, show a jump. An
answer that took long has wide bounds, and does not widen narrower ones from before.

**Correction.** The process moves all times of a group forward by the most that the jump can be:
leases, parking, waits, the grace of a new group. No time is moved beyond the moment at which the
jump was noticed. So each time is then no longer ago than by the monotonic clock, and no lease ends
early. Times from after the jump are moved as well, since they cannot be told from earlier ones. A
lease is lengthened until one lease after the last process has noticed the jump, and no further.

A clock that is put back makes leases longer, never shorter. The rule in `leases` corrects them with
the next command. A process does not notice a jump before its first look, nor a clock that goes back
and forward again between two of its looks while another process serves readers.
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
"""How much faster or slower one clock may run than the other: twice what NTP allows itself."""

JUMPS_KEPT = 16


class StoreClock:
    """One store's clock as one process sees it, with the `jumps` that it has noticed."""

    def __init__(self) -> None:
        self.jumps: tuple[ClockJump, ...] = ()
        self._low = self._high = 0.0
        self._observed_ms: float | None = None

    def observe(self, sent_ms: float, store_ms: int, received_ms: float) -> int:
        """Compare the store's clock with the monotonic one, and return how far (ms) it has jumped
        since the last call: 0 if it has not, and less than 0 if it was set back.

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
    """Return the group with its times moved by the jumps. It is a new object even if no time was
    moved, so that it is committed and not checked again. O(readers) for each jump.
    """
    for jump in jumps:
        group = with_times_moved(group, partial(later, jump=jump), jump.noticed_ms)
    return group


def later(time_ms: int, jump: ClockJump) -> int:
    """Return a time moved forward by a jump, but not beyond the moment of noticing."""
    return time_ms if time_ms >= jump.noticed_ms else min(time_ms + jump.by_ms, jump.noticed_ms)
