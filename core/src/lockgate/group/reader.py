"""One reader of a group: its last report, and the split that is on its way to the reader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX
from lockgate.wire.events import ReportedWatermarkEvent

ReaderKey = tuple[str, int]
"""A reader's source and subtask."""

Attempt = tuple[int, int]
"""A batch's id and attempt, which order the reports of tasks about one split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """A split on its way to a reader, with its `watermark` (ms) in its previous reader's report."""

    split: str
    watermark: int


class Reader(NamedTuple):
    """One reader. `reported` is the last report of this epoch or, before the first one, of the
    previous epoch. If both `reported` and `arriving` are None, the reader does not count in the
    group's watermark.

    The lease runs from `heard_at`. The reader is `excused` if an outage has extended the lease
    since the last report, and `lost` if the lease has ended (`leases`). A report last showed
    progress at `progressed_at`. The reader has waited at the ceiling since `held_since`, and is
    `overdue` if it has waited for too long. It is `passed_over` if others have waited for it for
    too long (`long_waits`). All times are the store's, in ms.

    Of the splits that the reader was assigned but has not reported yet, `arriving` is the one
    furthest behind. That split counts as if the reader had reported it
    (`lockgate.enumerator.arrivals`). `splits_named` is true if the last report named the reader's
    splits. `attempts` maps each split to the newest attempt that has reported progress in it.
    `progress_ignored` counts the splits in progress from older attempts.

    Each report creates a new `Reader`, and a named tuple is created four times as fast as a frozen
    dataclass.
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
    """Return the report's watermark for the group, which is MAX for an idle or finished reader."""
    return MAX if reported.idle or reported.finished else reported.watermark


def watermark_of(reader: Reader) -> int:
    """Return the watermark with which the reader counts in its group unless it is passed over. A
    passed-over reader counts as MAX (`long_waits`), but this function returns its own watermark.
    """
    return watermark_after(reader.reported, reader)


def watermark_after(reported: ReportedWatermarkEvent | None, reader: Reader) -> int:
    """Return what `watermark_of` would return if the reader's last report were `reported`: the
    report's watermark or that of the arriving split, whichever is lower.
    """
    watermark = MAX if reported is None else effective_watermark(reported)
    if reader.arriving is None or (reported is not None and reported.finished):
        return watermark
    return min(watermark, reader.arriving.watermark)
