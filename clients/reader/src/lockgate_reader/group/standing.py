"""The status that a reader in a group reports, computed from the state of its consumer. Pure.

**The watermark of a split** is the consumer's own, or just below the split's next record if that is
higher. Otherwise, a split that waits at the read limit, with its next record after a gap, would
block the group forever. A split that has had no record yet is left out if another one has.

**A split that moves to another reader** is reported until the coordinator has taken it back. From
then on, it counts for the other reader. **A reader is idle** if all of its splits are.

**The watermark of the reader** is the lowest of its splits that are not idle. It can fall when the
reader gets a split that is further behind. The group then waits for that split, as it should.

**The proposed target** (`reach`) is the event time up to which the reader can read at once, because
it has fetched all splits that far. If a split has had no record yet, the reader proposes none. The
proposed target is never below the watermark.

**A reader without splits** is idle, and blocks no other reader. Before the coordinator has assigned
any split, the reader has no watermark yet, and does not count.
"""

from collections.abc import Sequence

from lockgate.watermark import MIN, add
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.group.holdings import Said
from lockgate_reader.place import ReaderSplit

UNKNOWN = SourceStatus(MIN, None)
"""The status of a reader that has had no record yet."""

NOBODY_HELD = SourceStatus(MIN, None, idle=True)
"""The status of a reader that has no splits, or has read all of them to their end."""


def standing(
    said: Said,
    before: SourceStatus,
    *,
    settled: bool,
    disorder: int,
    joint: bool,
    returning: Sequence[ReaderSplit] = (),
) -> SourceStatus:
    """Return the status to report.

    `before` is the previous status, and `disorder` the out-of-orderness in ms. `returning` has
    splits that were given back, but not taken back by the coordinator yet. `settled` says whether
    the coordinator assigns splits; if so, a reader without splits is idle. `joint` says whether the
    group uses proposed targets (`reach`).
    """
    if said.state.ended or not (said.held or returning):
        return NOBODY_HELD if settled or said.state.ended else before
    idle = said.state.idle
    splits = {each.split.split_id: _report(each, disorder, idle=idle or each.idle) for each in said.held}
    splits |= {each.split.split_id: _report(each, disorder, idle=each.idle) for each in returning}
    holding = [report.watermark for report in splits.values() if report.state is not SplitState.IDLE]
    shown = [watermark for watermark in holding if watermark > MIN]
    if not holding:
        return SourceStatus(MIN, None, splits, idle=True)
    if not shown:
        return SourceStatus(before.watermark, None, splits, idle=before.idle)
    lowest = min(shown)
    offers = joint and len(shown) == len(holding) and said.state.reach > lowest
    return SourceStatus(lowest, said.state.reach if offers else None, splits)


def watermark_of(split: ReaderSplit, disorder: int) -> int:
    """Return the watermark (ms) to report for a split; MIN before its first record."""
    return split.watermark if split.next_time is None else max(split.watermark, add(split.next_time, -1 - disorder))


def _report(split: ReaderSplit, disorder: int, *, idle: bool) -> SplitReport:
    state = SplitState.IDLE if idle else SplitState.PAUSED if split.paused else SplitState.ACTIVE
    position = split.split.starting_offset
    return SplitReport(
        watermark=watermark_of(split, disorder), state=state, position=position if position >= 0 else None
    )
