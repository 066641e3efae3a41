"""Computes the status that a reader reports to its alignment group. This module does no I/O.

The watermark of a split is the one that its records have generated, or the event time of its next
record − 1 − out-of-orderness if that is higher, or a split before a gap in event time would block
the group forever. The watermark of the reader is the lowest of its splits that are not idle; a
split that has had no record yet is left out if another one has. The proposed target (`reach`) is
the event time up to which all splits are fetched, once each has had a record. A reader without
splits is idle.
"""

from lockgate.watermark import MIN, add
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.place import ReaderSplit, ReaderState

UNKNOWN = SourceStatus(MIN, None)  # before the reader's first record
NOBODY_HELD = SourceStatus(MIN, None, idle=True)  # without splits, or at the end of all data


def standing(
    state: ReaderState, before: SourceStatus, returning: list[ReaderSplit], *, settled: bool, disorder: int, joint: bool
) -> SourceStatus:
    """Return the status to report for the reader's `state`, after the status `before`.

    `disorder` is the out-of-orderness in ms. `returning` has the splits that the coordinator has
    not taken back yet. `settled` is False while it delays the assignment of splits. `joint` is set
    if the group uses proposed targets.
    """
    if state.ended or not (state.held or returning):
        return NOBODY_HELD if settled or state.ended else before
    idle = state.idle
    splits = {each.split.split_id: _report(each, disorder, idle=idle or each.idle) for each in state.held}
    splits |= {each.split.split_id: _report(each, disorder, idle=each.idle) for each in returning}
    holding = [report.watermark for report in splits.values() if report.state is not SplitState.IDLE]
    shown = [watermark for watermark in holding if watermark > MIN]
    if not holding:
        return SourceStatus(MIN, None, splits, idle=True)
    if not shown:
        return SourceStatus(before.watermark, None, splits, idle=before.idle)
    lowest = min(shown)
    offers = joint and len(shown) == len(holding) and state.reach > lowest
    return SourceStatus(lowest, state.reach if offers else None, splits)


def _report(split: ReaderSplit, disorder: int, *, idle: bool) -> SplitReport:
    state = SplitState.IDLE if idle else SplitState.PAUSED if split.paused else SplitState.ACTIVE
    watermark, position = split.watermark, split.split.starting_offset
    if split.next_time is not None:
        watermark = max(split.watermark, add(split.next_time, -1 - disorder))
    return SplitReport(watermark=watermark, state=state, position=position if position >= 0 else None)
