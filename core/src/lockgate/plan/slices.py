"""Batches that end at the end of a window (`lockgate.plan.windows`), so that queries get whole
windows without keeping any state.

**The rule.** A plan whose target would be `T` ends instead at the start of the window that contains
`T + 1`. So a batch holds one or more whole windows, as the budget allows. These windows are the
batch's *slice*. In three cases the batch cannot reach the end of the window that has the first
unread record:

* The window is *open*: a record of it may still be appended. Nothing is read. A window is closed
  once the ends of all logs have been looked up at least `lag(s)` (`model`) after its end.
* The window exceeds the *budget*. The batch reads as much of it as the budget allows. The slices of
  batches that share a window are not `whole`.
* The *group's ceiling* is lower. While the group waits for another reader, the query waits until it
  may read the rest of the window. While the group waits for the query itself, no other reader can
  raise the ceiling, so the query reads part of the window, up to the ceiling. This never happens if
  `max_drift` is at least as long as a window.

A slice is **whole** if its batch has all records of the windows from `start` to `end`, except for
stragglers: records out of order that come after the batch.

A window is **torn** if some of its records were deleted, or read by an earlier batch. No batch
holds a torn window together with one that may be whole. `whole_from` is the start of the first
window that is not torn.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import Limit, Plan, Split
from lockgate.plan.windows import Windows


@dataclass(frozen=True, slots=True)
class Slice:
    """The event times (ms) of a batch.

    Attributes:
        start: The first event time.
        end: The end (exclusive).
        whole: True if windows begin at `start` and at `end`, and no other batch contains a part of
            the windows in between.
        unfinished: True if the records of the last ms exceed the budget, so that the next slice
            begins with the same ms.
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
    """Return the plan of a batch that ends with a closed window, if budget and ceiling allow it.

    The module's docstring has the rule for other cases. `ceiling` (ms) is that of the group, and
    `holds_group` is true if no reader of the group is behind this query. `whole_from` is the start
    (ms) of the first window that is not torn. A batch that begins before it also ends before it.
    Raises `Unasked` if closed answers lack a look-up that the plan needs.
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
    """Return the slice that the batch of `plan` covers. `first` is the lowest event time (ms) that
    was unread before the batch. `before` is the previous slice, or None for the first batch.
    """
    start = windows.begin(first) if before is None else before.next_start
    unfinished = plan.target < first and plan.offsets > 0
    end = max(start, (first if unfinished else plan.target) + 1)
    begun = before is not None and before.unfinished
    whole = not unfinished and not begun and windows.begin(start) == start and windows.begin(end) == end
    return Slice(start, end, whole, unfinished)
