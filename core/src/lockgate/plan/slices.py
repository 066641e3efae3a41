"""Event-time slices: batches that end where windows do (`lockgate.plan.windows`), so that a window
is whole without any state.

**The rule.** A plan whose target would be `T` ends where the window begins in which `T + 1` lies
instead. So a batch holds one or more whole windows, as the budget allows. Three cases are left,
where it cannot get to the end of the window in which the first unread record lies:

* The window is *open*: a record of it may still be appended. Nothing is read. A window is closed
  once the clock, as far as the logs are known to have shown everything, is `idle_timeout` past its
  end.
* It is more than the *budget*. The batch reads as much of it as the budget gives. The batches that
  share a window say that they are not whole.
* The *group* does not allow it. While another reader holds the group, the query waits for the rest
  of the window. Where the query itself holds the group, no other reader could raise the ceiling, so
  the query reads up to it. With a drift of at least a window that does not happen.

**Whole** means: this batch has all records of the windows from `start` to `end` that are ever read.
The exception are stragglers, records that are out of order across the cut and come later.
`Slice.whole` speaks of the cuts alone; the logs tell whether stragglers may come.

**Torn windows**, of which a part was deleted or read before, are kept apart: no batch holds a torn
window together with one that may be whole. The logs tell up to where windows are torn
(`whole_from`). Flink has windows with state instead.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import Limit, Plan, Split
from lockgate.plan.windows import Windows


@dataclass(frozen=True, slots=True)
class Slice:
    """Event times `start` to `end` (exclusive), ms. `whole`: windows begin at both, and no other
    batch has a part of them.

    `unfinished`: the last ms has more records than the budget, and the batch ends amid them.
    """

    start: int
    end: int
    whole: bool
    unfinished: bool = False

    @property
    def next_start(self) -> int:
        """Where the slice behind it starts."""
        return self.end - 1 if self.unfinished else self.end


def plan_slice(
    draft: Draft[Split], ceiling: int, windows: Windows, holds_group: bool, whole_from: int = watermark.MIN
) -> Plan[Split]:
    """Return the plan under the group's ceiling (ms) that ends where a window does.

    `holds_group`: no reader is behind this query. `whole_from`: the begin (ms) of the first window
    that is not torn; a batch that begins before it goes no further.
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
    """Return the slice that a plan's batch covers.

    `first` is the event time (ms) of the first unread record. `before` is the previous slice, or
    None if there is none.
    """
    start = windows.begin(first) if before is None else before.next_start
    unfinished = plan.target < first and plan.offsets > 0
    end = max(start, (first if unfinished else plan.target) + 1)
    begun = before is not None and before.unfinished
    whole = not unfinished and not begun and windows.begin(start) == start and windows.begin(end) == end
    return Slice(start, end, whole, unfinished)
