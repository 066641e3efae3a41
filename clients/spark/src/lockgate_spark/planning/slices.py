"""Plans window-aligned batches: where they end, and which windows each batch contains. The rule is
in `lockgate.plan.slices`, which calls these windows the batch's slice.

A batch that Spark replays from the checkpoint must get the slice with which an earlier run has
planned it. So the last two slices are kept beside the checkpoint, each before Spark logs the
offsets of its batch. The last one may never have become a batch, but the one before it has.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

from lockgate import watermark
from lockgate.errors import InvalidValue
from lockgate.plan.draft import Draft
from lockgate.plan.model import Plan
from lockgate.plan.slices import Slice, plan_slice, slice_of
from lockgate.plan.windows import Windows
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.fields import Meta
from lockgate_http.duration import milliseconds
from lockgate_spark.config import EPOCH
from lockgate_spark.logs.outside import highest_before, out_of_order
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread, by_source, names
from lockgate_spark.planning.memory import by_split, remembered
from lockgate_spark.planning.steps import Look, Query
from lockgate_spark.spark_run import Memory
from lockgate_spark.telemetry.view import BatchSlice

log = logging.getLogger("lockgate")

BySplit = dict[Key, int]
"""An offset or an event time (ms) of each split."""

FORMAT = 1  # of a text that is kept

_NAMED = 8  # splits in one line of the log
_LAST = 253_402_300_799_999  # ms, in the year 9999: no clock of a time zone goes further


def _integer(value: object) -> int:
    if type(value) is not int:
        raise InvalidValue("splits", "must have an integer each")
    return value


_INTEGERS = by_split(_integer)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The JSON content of a stored slice. Its batch reads from `starts` to `ends`. `slice` is
    what `slice_of` returns, and `torn` is `InterruptedSlices.upto`.
    """

    CLOSED: ClassVar[bool] = True

    format: Annotated[int, Meta(ge=FORMAT, le=FORMAT)]
    number: Annotated[int, Meta(ge=1, le=2**62)]
    slice: Slice
    shown: BatchSlice
    ends: Annotated[BySplit, _INTEGERS]
    starts: Annotated[BySplit, _INTEGERS]
    torn: Annotated[BySplit, _INTEGERS]


def _parsed(value: object) -> _Kept:
    kept = from_json(_Kept, value)
    if not all(-_LAST <= at <= _LAST for each in (kept.slice, kept.shown) for at in (each.start, each.end)):
        raise InvalidValue("slice", "must begin and end before the year 10,000")
    if not kept.starts.keys() <= kept.ends.keys():
        raise InvalidValue("starts", "must be of splits that have an end")
    return kept


class InterruptedSlices:
    """Finds the windows of one run that lack records, because some were deleted, or lie before the
    offset at which the query begins to read (`docs/guide/window-aligned-batches.md`).

    A split is read without a gap if its next batch begins where the last one ended (at offset 0 if
    there was none), and its log does not begin later. Otherwise records are missing. `upto` has an
    upper bound (ms) on their event times, without the out-of-orderness: that of the last record
    before the split's position, if the log still has it (`logs.outside`), else of the first record
    that is left, else the present time. `last` is what was kept of the checkpoint's last batch.
    """

    def __init__(self, windows: Windows, last: _Kept | None) -> None:
        self._windows = windows
        self.upto: BySplit = {} if last is None else dict(last.torn)
        self._joins: BySplit = {} if last is None else dict(last.ends)
        self._begins: BySplit = {}  # where a log was known to begin when its gap was looked at

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


class Slices:
    """Determines the slices of one run's batches; `memory` keeps the last two. `logged` has the
    offsets at which the checkpoint's last batch ends, by source.
    """

    def __init__(
        self, windows: Windows, memory: Memory, logged: Mapping[int, Offsets], sources: Mapping[int, Source]
    ) -> None:
        self.windows = windows
        self._memory, self._sources = memory, sources
        kept = remembered(memory.read(), _parsed, "the slices")
        ends = {(i, split): at for i, of_source in logged.items() for split, at in of_source.items()}
        self._last = next((one for one in kept if ends and one.ends == ends), None)
        # What was kept of the checkpoint's last batch is not to be written over before the next
        # batch is logged.
        self._number = self._last.number if self._last is not None else max((one.number for one in kept), default=0)
        self._begun_without = bool(logged) and self._last is None
        self._handed_out = max((one.slice.end for one in kept), default=watermark.MIN)
        self._torn = InterruptedSlices(windows, self._last)
        self._disorder = 0
        self._warned: set[str] = set()

    @classmethod
    def of(cls, query: Query) -> "Slices | None":
        """Return the slices of a query whose sources Spark has opened; None without
        `Alignment(slice=…)`. Raises `ConfigurationError` if Spark lacks the time zone `slice_zone`.
        """
        alignment, run = query.alignment, query.run
        if alignment.slice is None:
            return None
        logged = {i: offsets for i in query.sources if (offsets := run.logged_offsets(i)) is not None}
        size, zone = milliseconds("Alignment(slice)", alignment.slice), alignment.slice_zone
        windows = Windows(size) if zone == EPOCH else Windows(size, run.zone(zone))
        return cls(windows, run.memory(), logged, query.sources)

    @cached_property
    def replayed(self) -> BatchSlice | None:
        """The slice of the last batch in the checkpoint, which Spark may run again, if it is known.
        It is incomplete if Kafka has deleted records of the batch since.
        """
        if self._last is None:
            return None
        shown = self._last.shown
        gone = {split for i, source in self._sources.items() for split in _deleted(source, i, self._last)}
        if gone:
            shown = replace(shown, complete=False, missing_from=tuple(sorted(gone | {*shown.missing_from})))
        self._warn(shown)
        return shown

    def look(self, look: Look) -> None:
        """Find the splits with missing records (`InterruptedSlices`) before a plan is made from
        `look`. Whether unread records were deleted matters if it may contain a complete window.
        """
        first, self._disorder = look.answers.first, look.bounds.disorder
        self._torn.look(look)
        if first != watermark.MAX and Draft(look.answers).closed >= self.windows.end(first) - 1:
            self._torn.look_at_begins(look)

    def reach(self, drafted: Draft[Key]) -> int:
        """Return the event time (ms) that the next batch reaches without the group's ceiling."""
        whole_from = self.whole_from(drafted.first)
        alone = plan_slice(drafted, watermark.MAX, self.windows, holds_group=False, whole_from=whole_from)
        return min(drafted.reach, alone.target)

    def window_aligned(self, drafted: Draft[Key], ceiling: int, group_watermark: int) -> Plan[Key]:
        """Return the plan of a batch that ends at the end of a window. If it cannot reach one, it
        reads a part of the window or nothing (`lockgate.plan.slices`). `ceiling` and
        `group_watermark` (ms) are the group's; MAX and MIN without a group.
        """
        holds_group = min(drafted.watermarks.values(), default=watermark.MAX) <= group_watermark
        return plan_slice(drafted, ceiling, self.windows, holds_group, self.whole_from(drafted.first))

    def take(self, plan: Plan[Key], first: int, unread: Unread, disorder: int) -> BatchSlice | None:
        """Return the slice of a plan's batch, and keep it beside the checkpoint; None for an empty
        batch. `first` is the event time of the first unread record, `disorder` the
        out-of-orderness (ms).
        """
        if plan.offsets == 0:
            return None
        starts = {key: made.position for key, made in plan.splits.items()}
        ends = {key: made.end for key, made in plan.splits.items()}
        cut = slice_of(plan, first, self._before(first), self.windows)
        missing = self._torn.took(ends, cut.start, disorder)
        late = set[str]()
        if cut.whole and not missing:
            cuts = by_source(ends)
            for i, source in unread.sources.items():
                late |= out_of_order(source.log, cut.end, cuts.get(i, {}), unread.ends[i], disorder)
        shown = BatchSlice(cut.start, cut.end, cut.whole and not missing and not late, missing, tuple(sorted(late)))
        self._number += 1
        self._last, self._begun_without = _Kept(FORMAT, self._number, cut, shown, ends, starts, self._torn.upto), False
        self._memory.write(self._number, json.dumps(to_json(self._last)))
        self._warn(shown)
        return shown

    def whole_from(self, first: int) -> int:
        """Return the start (ms) of the first window that can be complete; MIN if the next slice
        starts with it. `first` is the event time (ms) of the first unread record.
        """
        before = self._before(first)
        start = self.windows.begin(first) if before is None else before.next_start
        amid = (before is not None and before.unfinished) or self.windows.begin(start) != start
        whole_from = self._torn.whole_from(self.windows.end(start) if amid else start, self._disorder)
        return whole_from if whole_from > start else watermark.MIN

    def _before(self, first: int) -> Slice | None:
        if self._begun_without:
            begun = max(first, self._handed_out)
            # an unknown part of that window was read
            return Slice(begun, begun + 1, whole=False, unfinished=True)
        return None if self._last is None else self._last.slice

    def _warn(self, shown: BatchSlice) -> None:
        if news := [split for split in shown.missing_from if split not in self._warned]:
            self._warned.update(news)
            log.warning(
                "the windows from %s to %s are incomplete: earlier records of %s were deleted, or lie before the "
                "offset at which this query begins to read",
                watermark.instant(shown.start),
                watermark.instant(shown.end),
                ", ".join(news[:_NAMED]) + (f" and {len(news) - _NAMED} more" if len(news) > _NAMED else ""),
            )


def _deleted(source: Source, i: int, kept: _Kept) -> list[str]:
    """Return the splits of source `i` from which Kafka has deleted records of the replayed batch.
    If Kafka does not answer, log a warning and return all splits that the batch has read.
    """
    read = {split: at for (of, split), at in kept.starts.items() if of == i and at < kept.ends[i, split]}
    try:
        source.log.set_splits(read)
        begins = source.log.requests.begins()
    except Exception as error:
        log.warning("cannot tell whether retention deleted records of the replayed batch: %s", error)
        return list(read)
    return [split for split, at in read.items() if begins[split] > at]
