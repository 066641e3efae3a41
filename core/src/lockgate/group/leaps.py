"""Leaps: a store's clock that is put forward ends no lease.

Leases run by the store's clock, since all processes see it. But that clock may be set, or another
server may take over with another one. A process has a monotonic clock as well. It says nothing
about the date, but it never leaps. So each process compares the two whenever the store answers.

**To notice.** The store's time t was read between the monotonic times a (sent) and b (received). So
the store's clock was ahead of the monotonic one by t − b at least and t − a at most. Two answers
whose bounds have no number in common, with a margin for clocks that run unevenly, show a leap. An
answer that took long has wide bounds, and does not widen the narrower ones from before.

**To make up for.** The process moves all times of a group forward by the most that the leap can
be: leases, parking, waits, the grace of a new group. No time is moved beyond the moment of
noticing. So each is then as long ago as by the monotonic clock, or less long, and no lease ends
early. Times from after the leap are moved as well. They cannot be told: the clock may have leapt
twice, and another process may have made up for the first leap alone. A lease is lengthened until
one lease after the last process has noticed the leap, and no further.

A clock that is put back makes leases longer, never shorter. `leases` brings them back with the next
command. A process does not notice a leap before its first look. Nor does it notice a clock that
goes back and forward again between two of its looks, while another process serves readers.

Used by the coordinator, and by `lockgate.enumerator.leases`. Flink has one process, and its timers
are monotonic.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil

from lockgate.group.group import Group
from lockgate.group.leases import lease_ends
from lockgate.group.reader import Reader
from lockgate.wire.events import GroupConfig

UNNOTICED_MS = 50
"""A leap that is smaller is taken for the clocks' uneven pace."""

UNEVEN = 0.001
"""How much faster or slower one clock may run than the other: twice what NTP allows itself."""

LEAPS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Leap:
    """The store's clock was put forward by `by_ms` at most; this was noticed at `noticed_ms` of the
    store's time. `number` counts the leaps that one process has noticed.
    """

    number: int
    by_ms: int
    noticed_ms: int


class StoreClock:
    """One store's clock as one process sees it. `leaps`: those that were noticed, oldest first."""

    def __init__(self) -> None:
        self.leaps: tuple[Leap, ...] = ()
        self._low = self._high = 0.0
        self._observed_ms: float | None = None

    def observe(self, sent_ms: float, store_ms: int, received_ms: float) -> int:
        """Take in a time of the store that was read between two monotonic times, all in ms. Returns
        by how many ms the store's clock has leapt since: 0, or below 0 if it was put back.
        """
        low, high = store_ms - received_ms, store_ms + 1 - sent_ms
        leapt = 0
        if self._observed_ms is not None:
            uneven = UNEVEN * max(0.0, received_ms - self._observed_ms)
            was_low, was_high = self._low - uneven, self._high + uneven
            if low > was_high + UNNOTICED_MS:
                leapt = ceil(high - was_low)
                number = self.leaps[-1].number + 1 if self.leaps else 1
                self.leaps = (*self.leaps, Leap(number, leapt, store_ms))[-LEAPS_KEPT:]
            elif high < was_low - UNNOTICED_MS:
                leapt = -ceil(was_high - low)
            elif max(low, was_low) <= min(high, was_high):
                low, high = max(low, was_low), min(high, was_high)
        self._low, self._high, self._observed_ms = low, high, received_ms
        return leapt


def after_leaps(group: Group, leaps: Iterable[Leap]) -> Group:
    """Return the group with its times moved by the leaps. It is a new object even where no time was
    moved, so that it is committed, and the process need not look at it again. O(readers) for each
    leap.
    """
    for leap in leaps:
        group = _after_leap(group, leap)
    return group


def _after_leap(group: Group, leap: Leap) -> Group:
    readers = {key: _moved(reader, group.config, leap) for key, reader in group.readers.items()}
    changed = {key: reader for key, reader in readers.items() if reader is not group.readers[key]}
    # The grace began one lease before its end, wherever other leaps have moved it.
    began = _later(group.grace_until - group.config.lease_ms, leap)
    assert began is not None
    grace_until = began + group.config.lease_ms
    heard_at = _later(group.heard_at, leap)
    return replace(group, heard_at=heard_at, grace_until=grace_until, readers=group.readers.updated(changed))


def _moved(reader: Reader, config: GroupConfig, leap: Leap) -> Reader:
    heard_at, held_since = _later(reader.heard_at, leap), _later(reader.held_since, leap)
    assert heard_at is not None
    if (heard_at, held_since) == (reader.heard_at, reader.held_since):
        return reader
    ends = lease_ends(reader, config) + heard_at - reader.heard_at
    return reader.after_time(
        heard_at=heard_at,
        excused=reader.excused,
        lost=reader.lost and ends <= leap.noticed_ms,
        reported=reader.reported,
        progressed_at=_later(reader.progressed_at, leap),
        held_since=held_since,
        overdue=reader.overdue,
    )


def later(time_ms: int, leap: Leap) -> int:
    """Return a time moved forward by a leap, but not beyond the moment of noticing."""
    return time_ms if time_ms >= leap.noticed_ms else min(time_ms + leap.by_ms, leap.noticed_ms)


def _later(time_ms: int | None, leap: Leap) -> int | None:
    return None if time_ms is None else later(time_ms, leap)
