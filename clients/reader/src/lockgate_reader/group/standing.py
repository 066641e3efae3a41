"""What a reader in a group reports: from what the consumer says to one status. Pure.

**The watermark of a split** is the consumer's own, or just below its next record, where that is
higher: a split that waits at the ceiling with its next record behind a gap would else hold the
group for ever. A split that has shown nothing yet is left out as long as another one has.

**A split on its way** to another reader is reported until the coordinator has taken it back. From
then on that reader counts with it. **An idle reader** has idle splits alone.

**The watermark of the reader** is the lowest of its splits that are not idle. It may fall, when a
split comes from further behind: then the group waits for it, as it should.

**The reach** is where the reader can read to at once, since it has fetched so far of each split. A
reader with a split that has shown nothing offers none. It is never below the watermark.

**Without splits** a reader holds nobody: it is idle. Before the coordinator has assigned anything
it has no watermark yet, so it does not count.
"""

from collections.abc import Sequence

from lockgate.watermark import MIN, add
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.group.holdings import Said
from lockgate_reader.place import ReaderSplit

UNKNOWN = SourceStatus(MIN, None)
"""Of a reader that has shown nothing yet."""

NOBODY_HELD = SourceStatus(MIN, None, idle=True)
"""Of a reader without splits, and of one that has read all of them to their end."""


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

    `before` is the last one, `disorder` is in ms, and `returning` are splits given back but not
    taken back yet. `settled`: the coordinator has assigned all there is. `joint`: the group uses a
    reach.
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
    """Return the watermark of a split, in ms; MIN before its first record."""
    return split.watermark if split.next_time is None else max(split.watermark, add(split.next_time, -1 - disorder))


def _report(split: ReaderSplit, disorder: int, *, idle: bool) -> SplitReport:
    state = SplitState.IDLE if idle else SplitState.PAUSED if split.paused else SplitState.ACTIVE
    position = split.split.starting_offset
    return SplitReport(
        watermark=watermark_of(split, disorder), state=state, position=position if position >= 0 else None
    )
