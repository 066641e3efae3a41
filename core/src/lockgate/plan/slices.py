"""Batches that end where windows do (`lockgate.plan.windows`), so that each window is whole without
any state.

**The rule.** A plan whose target would be `T` ends instead at the start of the window that contains
`T + 1`. So a batch holds one or more whole windows, as the budget allows. In three cases it cannot
reach the end of the window that has the first unread record:

* The window is *open*: a record of it may still be appended. Nothing is read. A window is closed
  once the time up to which the logs have shown everything is `idle_timeout` past its end.
* The window exceeds the *budget*. The batch reads as much of it as the budget allows. The slices of
  batches that share a window are not `whole`.
* The *group's ceiling* is lower. While the group waits for another reader, the query waits until it
  may read the rest of the window. While the group waits for the query itself, no other reader can
  raise the ceiling, so the query reads up to it. With a drift of at least a window that does not
  happen.

**Whole** means that this batch has all records of the windows from `start` to `end` that are ever
read, except stragglers: records that are out of order across the cut and come later.

**Torn windows**, of which a part was deleted or read before, are kept apart: no batch holds a torn
window together with one that may be whole. The logs show up to where windows are torn
(`whole_from`).
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import Limit, Plan, Split
from lockgate.plan.windows import Windows


@dataclass(frozen=True, slots=True)
class Slice:
    """The event times from `start` to `end` (exclusive), ms. It is `whole` if a window begins at
    both, and no other batch has a part of its windows. It is `unfinished` if the batch ends within
    its last ms, because that ms exceeds the budget.
    """

    start: int
    end: int
    whole: bool
    unfinished: bool = False

    @property
    def next_start(self) -> int:
        return self.end - 1 if self.unfinished else self.end


def plan_slice(
    draft: Draft[Split], ceiling: int, windows: Windows, holds_group: bool, whole_from: int = watermark.MIN
) -> Plan[Split]:
    """Return the plan under the group's ceiling (ms) that ends where a window does.

    `holds_group` is true if no reader is behind this query. `whole_from` is the start (ms) of the
    first window that is not torn. A batch that begins before it also ends before it.
    """
    first = draft.first
    if first == watermark.MAX:
        return draft.plan(ceiling)
    most = min(ceiling, draft.closed, whole_from - 1 if first < whole_from else watermark.MAX)
    last = windows.end(first) - 1
    if last <= most:
        draft = draft.extended(last)
    cut = windows.begin(min(draft.target, most) + 1) - 1
    if cut >= first:
        return draft.plan(cut, Limit.GROUP if cut == ceiling else Limit.SLICE)
    if draft.closed < last:
        return draft.plan(min(ceiling, first - 1), Limit.SLICE)
    if ceiling < min(last, draft.target) and not holds_group:
        return draft.plan(min(ceiling, first - 1))
    return draft.plan(ceiling)


def slice_of(plan: Plan[Split], first: int, before: Slice | None, windows: Windows) -> Slice:
    """Return the slice that a plan's batch covers. `first` is the event time (ms) of the first
    unread record, `before` the previous slice, or None if there is none.
    """
    start = windows.begin(first) if before is None else before.next_start
    unfinished = plan.target < first and plan.offsets > 0
    end = max(start, (first if unfinished else plan.target) + 1)
    begun = before is not None and before.unfinished
    whole = not unfinished and not begun and windows.begin(start) == start and windows.begin(end) == end
    return Slice(start, end, whole, unfinished)
