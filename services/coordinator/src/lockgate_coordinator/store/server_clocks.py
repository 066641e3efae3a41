"""The clocks of a store's servers. A comparison with this machine's monotonic clock shows whether a
server's clock has jumped. The rule is in `lockgate.group.clock_jumps`.
"""

import logging
import time

from lockgate.duration import spoken
from lockgate.group.clock_jumps import StoreClock
from lockgate.group.now import ClockJump

log = logging.getLogger("lockgate")

MOST_GROUPS = 10_000
"""The maximum number of groups for which a process remembers the jumps that it has corrected.
Beyond that it forgets all of them, which may lengthen leases.
"""


class ServerClocks:
    """The clocks of a store's servers. If the store has `several` servers, there is one clock for
    each group, because it is not known on which server a group is. `place` names the store in log
    lines.
    """

    def __init__(self, place: str, *, several: bool) -> None:
        self._place, self._several = place, several
        self._clocks: dict[str, StoreClock] = {}
        self._made_up: dict[str, int] = {}  # the number of each group's last jump

    def answered(self, name: str, store_ms: int, sent_ms: float) -> float:
        """Return the server's clock minus the monotonic one, in ms, and log a jump of the clock.
        `store_ms` is the store's time in an answer about the group `name`. The request was sent at
        `sent_ms` (monotonic).
        """
        received_ms = monotonic_ms()
        jumped = self._clock(name).observe(sent_ms, store_ms, received_ms)
        if jumped:
            ahead, back = ("ahead", "; leases follow this machine's monotonic clock") if jumped > 0 else ("back", "")
            log.warning("%s: its clock has jumped %s by %s%s", self._place, ahead, spoken(round(abs(jumped))), back)
        return store_ms - (sent_ms + received_ms) / 2

    def jumps(self, name: str, part: str = "") -> tuple[ClockJump, ...]:
        """Return the jumps of the store's clock by which this process has not yet moved the times
        of the group, or of its split enumerators if `part` is `SplitRecords.part`.
        """
        jumps = self._clock(name).jumps
        made_up = self._made_up.get(name + part, 0) if jumps else 0
        return tuple(jump for jump in jumps if jump.number > made_up)

    def made_up(self, name: str, jumps: tuple[ClockJump, ...], part: str = "") -> None:
        """Record that this process has stored the group (or `part`) with its times moved."""
        if jumps:
            if len(self._made_up) >= MOST_GROUPS:
                self._made_up.clear()
            self._made_up[name + part] = jumps[-1].number

    def _clock(self, name: str) -> StoreClock:
        key = name if self._several else ""
        clock = self._clocks.get(key)
        if clock is None:
            if len(self._clocks) >= MOST_GROUPS:
                self._clocks.clear()
            clock = self._clocks[key] = StoreClock()
        return clock


def monotonic_ms() -> float:
    """Return the time of this machine's monotonic clock in ms."""
    return time.monotonic() * 1_000
