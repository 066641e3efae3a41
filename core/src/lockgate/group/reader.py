"""One reader of a group: its last report, and the split on its way to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX
from lockgate.wire.events import ReportedWatermarkEvent

ReaderKey = tuple[str, int]
"""A reader's source and subtask."""

Attempt = tuple[int, int]
"""Batch and attempt, by which the reports of tasks about one split are ordered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """A split on its way to a reader from another one, where its watermark was `watermark` (ms)."""

    split: str
    watermark: int


class Reader(NamedTuple):
    """One reader. `reported` is the last report of this epoch, or of the previous one. If it is
    None, the reader does not count.

    The lease runs from `heard_at`. The reader is `excused` if an outage has extended the lease
    since the last report, and `lost` if the lease has ended (`leases`). A report last showed
    progress at `progressed_at`. The ceiling has held the reader since `held_since`, and for too
    long if it is `overdue`. It is `passed_over` if others have waited for it for too long
    (`long_waits`). All times are the store's, in ms.

    `arriving` is the split furthest behind of those that the reader was assigned and has not shown
    yet. It counts as if the reader had reported it (`lockgate.enumerator.arrivals`).

    Each report makes a new one. A named tuple takes a quarter of the time of a frozen dataclass.
    """

    epoch: int
    heard_at: int
    owner: str = ""
    attributes: Mapping[str, str] = {}
    reported: ReportedWatermarkEvent | None = None
    excused: bool = False
    lost: bool = False
    progressed_at: int | None = None
    held_since: int | None = None
    overdue: bool = False
    passed_over: bool = False
    splits_named: bool = False
    attempts: Mapping[str, Attempt] = {}
    progress_ignored: int = 0
    arriving: Arriving | None = None


def effective_watermark(reported: ReportedWatermarkEvent) -> int:
    """Return the watermark that counts in the group: MAX for an idle or finished reader."""
    return MAX if reported.idle or reported.finished else reported.watermark


def watermark_of(reader: Reader) -> int:
    """Return the watermark with which the reader counts unless it is passed over."""
    return watermark_after(reader.reported, reader)


def watermark_after(reported: ReportedWatermarkEvent | None, reader: Reader) -> int:
    """Return the watermark with which the reader counts after this report, which is the lower one
    of the report's and that of a split on its way to the reader.
    """
    watermark = MAX if reported is None else effective_watermark(reported)
    if reader.arriving is None or (reported is not None and reported.finished):
        return watermark
    return min(watermark, reader.arriving.watermark)
