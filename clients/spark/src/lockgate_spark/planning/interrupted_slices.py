"""Finds the windows that lack records, because some were deleted, or lie before the offset at which
the query begins to read (`docs/guide/window-aligned-batches.md`).

A split is read without a gap if its next batch begins where the last one ended (at offset 0 if
there was none), and its log does not begin later. Otherwise records are missing. A window that
begins at or below `t + disorder` (out-of-orderness) may lack some of them. Here `t` is the event
time of the last record before the split's position, if the log still has it (`logs.outside`), else
of the first record that is left, else the present time.
"""

from collections.abc import Iterable

from lockgate import watermark
from lockgate.plan.windows import Windows
from lockgate_spark.logs.names import names
from lockgate_spark.logs.outside import highest_before
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source
from lockgate_spark.planning.steps import Look

BySplit = dict[Key, int]
"""An offset or an event time (ms) of each split."""


class InterruptedSlices:
    """Finds the windows of one run in which records are missing. `upto` has an upper bound (ms) on
    the event times of each split's missing records, without the out-of-orderness, `disorder`.
    `ends` has the offsets at which the last batch before this run ended.
    """

    def __init__(self, windows: Windows, upto: BySplit, ends: BySplit) -> None:
        self.upto, self._joins, self._windows = dict(upto), dict(ends), windows
        # where a log was known to begin when its gap was looked at
        self._begins: dict[Key, int] = {}

    def look(self, look: Look) -> None:
        """Update `upto` for the splits whose next batch does not begin where the last one ended."""
        for i, positions in look.unread.positions.items():
            if moved := [split for split, at in positions.items() if self._joins.get((i, split), 0) != at]:
                self._measure(i, moved, look.unread.sources[i].log.requests.begins(), look)

    def look_at_begins(self, look: Look) -> None:
        """Update `upto` for the splits of which unread records were deleted."""
        for i, source in look.unread.sources.items():
            begins, positions = source.log.requests.begins(), look.unread.positions[i]
            known = {split: max(at, self._begins.get((i, split), 0)) for split, at in positions.items()}
            if gone := [split for split, at in known.items() if begins[split] > at]:
                self._measure(i, gone, begins, look)

    def took(self, ends: BySplit, start: int, disorder: int) -> tuple[str, ...]:
        """Store `ends`, the offsets at which the planned batch ends, and remove from `upto` each
        split whose missing records are all older than `start` (ms), where its windows begin. Return
        the names of the others, which may lack records of the batch.
        """
        self._joins = dict(ends)
        self.upto = {key: at for key, at in self.upto.items() if watermark.add(at, disorder) >= start}
        return tuple(sorted(names(self.upto, [*self.upto, *ends]).values()))

    def whole_from(self, start: int, disorder: int) -> int:
        """Return the start (ms) of the first complete window at or after `start` (ms)."""
        last = max((watermark.add(at, disorder) for at in self.upto.values()), default=watermark.MIN)
        return start if last < start else self._windows.end(last)

    def _measure(self, i: int, splits: Iterable[str], begins: Offsets, look: Look) -> None:
        source, positions = look.unread.sources[i], {split: look.unread.positions[i][split] for split in splits}
        above = {split: at for split, at in positions.items() if at > begins[split]}
        found = highest_before(
            source.log, begins, above, look.bounds.disorder, lambda event_time: self._windows.end(event_time) - 1
        )
        starts = {split: max(at, begins[split]) for split, at in positions.items()}
        upto = {split: before for split, before in found.items() if before is not None}
        untold = {
            split: at
            for split, at in starts.items()
            if at > 0 and split not in upto and not (split in found and begins[split] == 0)
        }
        upto |= dict.fromkeys(untold, int(look.asked_at * 1000)) | _first(source, i, untold, look)
        self.upto |= {(i, split): max(at, self.upto.get((i, split), watermark.MIN)) for split, at in upto.items()}
        for split, at in positions.items():
            self._joins[i, split], self._begins[i, split] = at, begins[split]


def _first(source: Source, i: int, starts: Offsets, look: Look) -> dict[str, int]:
    """Return the event time (ms) of the first record, if any, at or after each of the `starts`."""
    found = {
        split: head.event_time
        for split, at in starts.items()
        if (head := look.answers.heads.get((i, split))) is not None and head.offset >= at
    }
    ends = look.unread.ends[i]
    unknown = {split: (at, ends[split]) for split, at in starts.items() if split not in found and at < ends[split]}
    readings = source.log.find(unknown).items()
    return found | {split: reading.found.event_time for split, reading in readings if reading.found is not None}
