"""Tracks the splits in which reading has stopped at a record with a future event time.

Such a record, and all that follow it in its split, are read once the clock reaches its event time.
Spark's watermark rises meanwhile, so the waiting records may be late by then. They are counted up
to the first one that is not late. Records that are appended meanwhile show which is wrong: the
event time at which the split has stopped, or the driver's clock (`driver_clock`).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.clock import LEAP_MS
from lockgate.plan.model import Head
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.unread import Key, Unread, named

log = logging.getLogger("lockgate")

_APART_S = 1.0  # between two looks behind such records
_WARNED_AFTER_S = 30.0  # by then the driver's clock would have been found to be behind


@dataclass(slots=True)
class _Stop:
    head: Head  # the record that stops it
    since: float  # when it was stopped, by the monotonic clock in seconds
    seen: int  # the end of the log when the records behind `head` were last inspected
    late: int = 0  # the number of late records behind `head`
    warned: bool = False


class Ahead:
    """Tracks the stopped splits of one run. `ticks` is a monotonic clock, in seconds."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._stops: dict[Key, _Stop] = {}
        self._ends: Mapping[Key, int] = {}  # the ends of all splits
        self._looked_at = 0.0
        self._late = 0  # behind records that have been read

    @property
    def too_late(self) -> int:
        """Number of late records so far behind records at which reading had stopped."""
        return self._late + sum(stop.late for stop in self._stops.values())

    @property
    def stopped(self) -> dict[Key, int]:
        """Time (ms) since reading stopped, for each split that has been stopped for a second."""
        now = self._ticks()
        return {
            key: int((now - stop.since) * 1000) for key, stop in self._stops.items() if now - stop.since >= _APART_S
        }

    def why(self, key: Key, now: int) -> str:
        """Return why reading has stopped in the split `key` at `now` (wall clock in ms), as the end
        of a sentence that begins with the split's name; empty if the split is not in `stopped`.
        """
        if key not in self.stopped:
            return ""
        head = self._stops[key].head
        ahead = spoken(max(0, head.event_time - now))
        return f"has stopped at offset {head.offset}, whose record is stamped {ahead} ahead of the clock"

    def look(self, unread: Unread, now: int, spark_watermark: int) -> dict[Key, int]:
        """Update the list of stopped splits from each split's first unread record, and count late
        records in these splits. `now` is the wall-clock time (ms) before Kafka was asked for the
        ends. `spark_watermark` (ms) is MIN if the query has no watermark.

        Return, for each stopped split with new records, how far (ms) the first new record is ahead
        of `now`; nothing for a second after new records were inspected.
        """
        ticks = self._ticks()
        self._ends = ends = {key: end for key, _, end in unread.splits()}
        stopped = {key: head for key, head in unread.heads().items() if head.event_time > now + LEAP_MS}
        over = [key for key, stop in self._stops.items() if stopped.get(key) != stop.head]
        self._count(unread, [key for key in over if ticks - self._stops[key].since >= _APART_S], spark_watermark)
        for key in over:
            self._end(key, self._stops.pop(key))
        self._stops |= {key: _Stop(head, ticks, ends[key]) for key, head in stopped.items() if key not in self._stops}
        if 0 <= ticks - self._looked_at < _APART_S:
            return {}
        self._looked_at, lasting = ticks, list(self.stopped)
        self._count(unread, lasting, spark_watermark)
        self._warn(lasting, now)
        ranges = {key: (self._stops[key].seen, ends[key]) for key in lasting if self._stops[key].seen < ends[key]}
        for key in ranges:
            self._stops[key].seen = ends[key]
        readings = unread.find(ranges)
        return {key: found.found.event_time - now for key, found in readings.items() if found.found is not None}

    def _count(self, unread: Unread, keys: Iterable[Key], spark_watermark: int) -> None:
        """Count the late records in the splits `keys` after the record at which each is or was
        stopped, up to the first record that is not late.
        """
        if spark_watermark == watermark.MIN:
            return
        begins = {key: self._stops[key].head.offset + 1 + self._stops[key].late for key in keys}
        ranges = {key: (at, self._ends[key]) for key, at in begins.items() if at < self._ends.get(key, 0)}
        for key, reading in unread.find(ranges, Credible(max(0, spark_watermark + 1))).items():
            upto = reading.until if reading.found is None else reading.found.offset
            self._stops[key].late += max(0, upto - begins[key])

    def _warn(self, keys: Iterable[Key], now: int) -> None:
        for key in keys:
            stop = self._stops[key]
            if not stop.warned and self._ticks() - stop.since >= _WARNED_AFTER_S:
                stop.warned = True
                log.warning(
                    "%s has stopped: its record at offset %d is stamped %s, %s ahead of the clock, and is read then. "
                    "Records behind it wait as long, and may become late. To leave such records out, set a shorter "
                    "future_bound, and filter them before withWatermark",
                    named(key, self._ends),
                    stop.head.offset,
                    watermark.instant(stop.head.event_time),
                    spoken(stop.head.event_time - now),
                )

    def _end(self, key: Key, stop: _Stop) -> None:
        self._late += stop.late
        if stop.late:
            log.warning(
                "%s is read again after %s: Spark's watermark has reached %d records behind offset %d, which is "
                "stamped %s, so a stateful operator drops these records",
                named(key, self._ends),
                spoken(int((self._ticks() - stop.since) * 1000)),
                stop.late,
                stop.head.offset,
                watermark.instant(stop.head.event_time),
            )
