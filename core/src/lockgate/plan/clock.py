"""The clock on which plans are based: the driver's wall clock without its jumps, corrected by
records that are stamped ahead of it.

**Jumps.** The wall clock may be set while a query runs. The monotonic clock never jumps, but has no
date. So plans use the monotonic clock plus the last accepted difference between the two clocks. A
change of this difference by `LEAP_MS` or less between two calls of `look` means that the clocks run
unevenly, and is accepted at once. A larger change is a jump of the wall clock:

* A jump that is undone within `STOOD_MS` has no effect.
* A jump that lasts longer is accepted: the wall clock was set, or the machine was suspended, which
  stops the monotonic clock.

**Records.** Suppose that a record was appended between two calls of `look`, but its timestamp is
later than the time of the second call. Then the driver's clock is behind, or the producer's clock
is ahead. The driver's clock is corrected only if this is true of every record of every recent
producer, by `AHEAD_MS` or more and for `SHOWN_MS`. It is then taken to be behind by the smallest of
these differences. So one producer on time is enough to trust the driver's clock.

Records take precedence over a jump. If records have come since a jump was noticed, accepting the
jump moves the correction by records the other way, so the time of plans stays the same. This covers
a jump of the driver's clock alone, and a wrong driver's clock that is set right.

The guarantees hold with any clock. The event time up to which a plan may read follows from the
clock and from lags that were measured by the same clock. If the clock is moved, all times that were
recorded by it have to be moved by the same amount (`moved`).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from lockgate.plan.model import Split

LEAP_MS = 1_000
"""The largest change of the difference between the two clocks, from one call of `look` to the next,
that is not a jump of the wall clock.
"""

UNEVEN = 0.001
"""The share by which one clock may run faster or slower than the other."""

STOOD_MS = 60_000
"""The time for which a jump has to last until it is accepted."""

AHEAD_MS = 10_000
"""The smallest lead of records for which the clock is corrected. A smaller lead delays plans by
less than this.
"""

SHOWN_MS = 10_000
"""The time for which all records have to be ahead until the clock is corrected."""

_REMEMBERED_MS = 3_600_000  # a producer that has been silent for longer says nothing


@dataclass(slots=True)
class _Shown:
    """The lead (ms) of one producer's records over the wall clock.

    Attributes:
        at: The time (ms, monotonic clock) of the producer's last records.
        began: The start (ms, monotonic clock) of the current period, which lasts `SHOWN_MS`.
        low: The smallest lead in the current period.
        before: The smallest lead in the previous period, or None if there was none.
    """

    at: int
    began: int
    low: int
    before: int | None = None

    @property
    def lowest(self) -> int:
        return self.low if self.before is None else min(self.low, self.before)


class PlanClock:
    """The clock of one run.

    `behind` is how far (ms) the wall clock is behind according to the records, negative if it is
    ahead. `moved` is the sum (ms) of all moves of this clock.
    """

    def __init__(self) -> None:
        self.behind = self.moved = 0
        self._base: int | None = None  # the last good difference between the clocks
        self._ticks = 0  # at the last look
        self._jump: tuple[int, int] | None = None  # the difference since a jump, and since when
        self._shown: dict[Hashable, _Shown] = {}

    @property
    def jumped(self) -> int:
        """The jump (ms) of the wall clock that has not been accepted yet, or 0."""
        return 0 if self._jump is None or self._base is None else self._jump[0] - self._base

    def look(self, wall_ms: int, ticks_ms: int) -> int:
        """Return the time (ms) for plans, given the wall clock and the monotonic clock
        (`ticks_ms`). Accept a jump that has lasted for `STOOD_MS`.
        """
        difference = wall_ms - ticks_ms
        since, self._ticks = ticks_ms - self._ticks, ticks_ms
        if self._base is None or abs(difference - self._base) <= LEAP_MS + UNEVEN * since:
            self._base, self._jump = difference, None
        elif self._jump is None or abs(difference - self._jump[0]) > LEAP_MS:
            self._jump = difference, ticks_ms
        elif ticks_ms - self._jump[1] >= STOOD_MS:
            self._take_over(*self._jump)
        return ticks_ms + self._base + self.behind

    def show(self, ahead: Mapping[Split, int]) -> None:
        """Process records that were appended between the last two calls of `look`. Correct the
        clock if they show that it is wrong.

        `ahead` maps each producer to its lead (ms): the records' event time − the time that the
        last `look` returned.
        """
        for producer, by in ahead.items():
            self._note(producer, by + self.behind)
        if ahead:
            self._weigh()

    def _note(self, producer: Hashable, ahead: int) -> None:
        shown = self._shown.get(producer)
        if shown is None:
            self._shown[producer] = _Shown(self._ticks, self._ticks, ahead)
        elif self._ticks - shown.began >= SHOWN_MS:
            self._shown[producer] = _Shown(self._ticks, self._ticks, ahead, shown.low)
        else:
            shown.at, shown.low = self._ticks, min(shown.low, ahead)

    def _take_over(self, difference: int, noticed: int) -> None:
        assert self._base is not None
        by, self._base, self._jump = difference - self._base, difference, None
        for shown in self._shown.values():
            shown.low -= by
            shown.before = None if shown.before is None else shown.before - by
        if any(shown.at >= noticed for shown in self._shown.values()):
            self.behind -= by
            self._weigh()
        else:
            self.moved += by

    def _weigh(self) -> None:
        """Set `behind` to the smallest lead of recent producers, if that changes it by enough (see
        the module's docstring). Add the change to `moved`.
        """
        lately = [shown for shown in self._shown.values() if self._ticks - shown.at <= _REMEMBERED_MS]
        if not any(shown.before is not None for shown in lately):
            return
        lowest = min(shown.lowest for shown in lately)
        least = AHEAD_MS if self.behind >= 0 else LEAP_MS
        if lowest >= self.behind + least or self.behind > max(lowest, 0):
            behind = lowest if lowest >= AHEAD_MS else min(lowest, 0) if self.behind < 0 else 0
            self.moved, self.behind = self.moved + behind - self.behind, behind
