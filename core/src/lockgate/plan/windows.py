"""The starts and ends of event-time windows, in the local time of a time zone.

**The rule.** A window is a week that begins on Monday, a day, or one of the equal parts of a day,
counted from local midnight. So it has the same rows as one partition of a table that is partitioned
by `date_trunc`, `hour` or a date in that zone. When clocks change, a day has 23 or 25 hours, and an
hour of the day can be missing.

**When clocks go back**, an hour of local time occurs twice. If a batch ended between the two
occurrences, the next batch would overwrite the rows of the first hour with those of the second. So
a window ends only at an instant after which no earlier local time occurs again. The hour that
occurs twice is one window of two hours. If windows last half an hour, the four half hours are one
window, too.

**Without a zone**, windows may have any size, and begin at multiples of it since 1970-01-01T00:00Z,
as in Spark's `window()` and in Flink.

The caller passes the changes of the zone's offset, so this module reads no time zone database.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import itemgetter

from lockgate.duration import spoken
from lockgate.errors import InvalidValue

DAY = 86_400_000
WEEK = 7 * DAY
_MONDAY = 3 * DAY  # 1970-01-01 was a Thursday


@dataclass(frozen=True, slots=True)
class Zone:
    """The local time of a zone, which is `offset` (ms) ahead of UTC before the first change.
    `changes` lists, in order, the instant (ms since 1970 UTC) and the new offset (ms) of each
    change. All offsets must be between −18 and 18 hours.
    """

    offset: int = 0
    changes: tuple[tuple[int, int], ...] = ()

    def local(self, instant: int) -> int:
        """Return the local time at `instant` (ms), as ms since 1970-01-01T00:00 local time."""
        return instant + self._offset(bisect_right(self.changes, instant, key=itemgetter(0)))

    def first(self, local: int) -> int:
        """Return the first instant (ms) at which the local time is `local` (ms) or later."""
        at = bisect_left(self.changes, local - DAY, key=itemgetter(0))
        begin = local - DAY
        while at < len(self.changes) and max(begin, local - self._offset(at)) >= self.changes[at][0]:
            begin = self.changes[at][0]
            at += 1
        return max(begin, local - self._offset(at))

    def twice(self, local: int) -> tuple[int, int] | None:
        """Return the span (start and end, local ms) of local time that occurs twice and contains
        `local` (ms) between its ends, or None if there is none.
        """
        near = range(
            bisect_left(self.changes, local - DAY, key=itemgetter(0)),
            bisect_right(self.changes, local + DAY, key=itemgetter(0)),
        )
        for at in near:
            instant, after = self.changes[at]
            if instant + after < local < instant + self._offset(at):
                return instant + after, instant + self._offset(at)
        return None

    def _offset(self, at: int) -> int:
        """Return the offset (ms) before the change with index `at`."""
        return self.changes[at - 1][1] if at else self.offset


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of `size` ms in the local time of `zone`. Without a zone, they begin at multiples of
    the size. Raises `InvalidValue` if the size is below 1 or does not fit the zone (`fits`).
    """

    size: int
    zone: Zone | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidValue("size", f"must be above 0, not {self.size}")
        if self.zone is not None and not fits(self.size):
            raise InvalidValue("size", f"of {spoken(self.size)}: expected what divides a day, a day, or a week")

    def begin(self, event_time: int) -> int:
        """Return the start (ms) of the window that contains an event time (ms)."""
        zone, monday = self._clocks
        local = _down(zone.local(event_time) + monday, self.size) - monday
        while (again := zone.twice(local)) is not None:
            local = _down(again[0] + monday, self.size) - monday
        return zone.first(local)

    def end(self, event_time: int) -> int:
        """Return the end (ms) of the window that contains an event time (ms)."""
        zone, monday = self._clocks
        local = _down(zone.local(event_time) + monday, self.size) + self.size - monday
        while (again := zone.twice(local)) is not None:
            local = -_down(-again[1] - monday, self.size) - monday
        return zone.first(local)

    @property
    def _clocks(self) -> tuple[Zone, int]:
        return (_UTC, 0) if self.zone is None else (self.zone, _MONDAY if self.size == WEEK else 0)


def fits(size: int) -> bool:
    """Return whether windows of `size` ms (a week, or a day's divisor) can follow local time."""
    return size == WEEK or (size > 0 and DAY % size == 0)


_UTC = Zone()


def _down(local: int, size: int) -> int:
    return local - local % size
