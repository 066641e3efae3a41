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
    """One reader. All times are the store's, in ms.

    A reader without a report and without an arriving split does not count in the group. Each report
    creates a new `Reader`, so it is a named tuple, which is faster than a dataclass.

    Attributes:
        epoch: The epoch that the last registration opened.
        heard_at: The time from which the reader's lease runs.
        reported: The last report of this epoch or, before the first one, of the previous epoch.
        excused: Whether an outage has extended the lease since the last report.
        lost: Whether the lease has ended (`leases`).
        progressed_at: The time when a report last showed progress, or None.
        held_since: The time since which the reader has waited at the ceiling, or None.
        overdue: Whether the reader has waited for too long (`long_waits`).
        passed_over: Whether others have waited for the reader for too long (`long_waits`).
        splits_named: Whether the last report named the reader's splits.
        attempts: The newest attempt that has reported progress in each split.
        progress_ignored: The number of splits in progress from older attempts.
        arriving: The slowest split that the reader was assigned but has not reported yet. It counts
            as if it had been reported (`lockgate.enumerator.arrivals`).
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
    """Return the reader's watermark for its group, even if the reader is passed over."""
    return watermark_after(reader.reported, reader)


def watermark_after(reported: ReportedWatermarkEvent | None, reader: Reader) -> int:
    """Return the reader's watermark, as `watermark_of` does, after the report `reported`.

    It is the watermark of the report or of the arriving split, whichever is lower.
    """
    watermark = MAX if reported is None else effective_watermark(reported)
    if reader.arriving is None or (reported is not None and reported.finished):
        return watermark
    return min(watermark, reader.arriving.watermark)
