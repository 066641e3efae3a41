"""The status that a reader in a group reports, computed from the state of its consumer. Pure.

**The watermark of a split** is the consumer's own, or just below the split's next record if that is
higher. Otherwise, a split that waits at the read limit, with its next record after a gap, would
block the group forever. A split that has had no record yet is left out if another one has. A split
that moves to another reader is reported until the coordinator has taken it back.

**The watermark of the reader** is the lowest of its splits that are not idle. It can fall when the
reader gets a split that is further behind. The group then waits for that split, as it should.

**The proposed target** (`reach`) is the event time up to which the reader has fetched all splits.
Before the first record of each split, there is no target.

**A reader without splits** is idle, and blocks no other reader. Before the coordinator has assigned
any split, the reader has no watermark yet, and does not count.
"""

from collections.abc import Sequence

from lockgate.watermark import MIN, add
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.place import ReaderSplit, ReaderState

UNKNOWN = SourceStatus(MIN, None)
"""The status of a reader that has had no record yet."""

NOBODY_HELD = SourceStatus(MIN, None, idle=True)
"""The status of a reader that has no splits, or has read all of them to their end."""


def standing(
    state: ReaderState,
    before: SourceStatus,
    *,
    settled: bool,
    disorder: int,
    joint: bool,
    returning: Sequence[ReaderSplit] = (),
) -> SourceStatus:
    """Return the status to report for `state` after the status `before`. `disorder` is in ms.

    `returning` has splits that the coordinator has not taken back yet. If the coordinator assigns
    splits (`settled`), a reader without any is idle. A `joint` group uses proposed targets.
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


def watermark_of(split: ReaderSplit, disorder: int) -> int:
    """Return the watermark (ms) to report for a split; MIN before its first record."""
    return split.watermark if split.next_time is None else max(split.watermark, add(split.next_time, -1 - disorder))


def _report(split: ReaderSplit, disorder: int, *, idle: bool) -> SplitReport:
    state = SplitState.IDLE if idle else SplitState.PAUSED if split.paused else SplitState.ACTIVE
    position = split.split.starting_offset
    return SplitReport(
        watermark=watermark_of(split, disorder), state=state, position=position if position >= 0 else None
    )
