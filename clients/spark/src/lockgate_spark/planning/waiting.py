"""Functions that derive from a plan why the query waits, and which records the last plan leaves for
the next run.
"""

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate_http.group.membership import Membership
from lockgate_spark.logs.names import names
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.steps import Planned
from lockgate_spark.telemetry.waits import Waits, for_member, for_split, for_window


def blocker(planned: Planned, producers: Producers) -> Key | None:
    """Return the split for which the others wait, if any: the paused one with the oldest next
    record if a record ahead of the clock has stopped it, else the one with the lowest watermark.
    """
    first = first_paused(planned.plan)
    return first[0] if first is not None and first[0] in producers.ahead.stopped else planned.basis.draft.slowest


def see_wait(planned: Planned, waits: Waits, membership: Membership | None, producers: Producers, now: int) -> None:
    """Pass to `waits` the wait that follows the plan `planned`; None if the plan reads records or
    was put off, or if nothing is left. `now` is the wall-clock time in ms.
    """
    plan, windows, wait = planned.plan, planned.basis.windows, None
    if not plan.offsets and not planned.put_off and plan.paused:
        first = first_paused(plan)
        if plan.limit is Limit.GROUP and membership is not None:
            wait = for_member(membership, None if first is None else first[1])
        elif plan.limit is Limit.HORIZON and (named := _why(planned, producers, now)) is not None:
            wait = for_split(*named, plan.ceiling, brief=producers.careful)
        elif plan.limit is Limit.SLICE and windows is not None and first is not None:
            wait = for_window(windows.end(first[1]))
    waits.seen(wait, plan.target if plan.offsets or planned.put_off else None)


def left_over(planned: Planned, producers: Producers, *, has_read: bool, now: int) -> str:
    """Return a message about the records that a run under `availableNow` leaves after its last
    plan, if any. `now` is the wall-clock time in ms.
    """
    plan, windows = planned.plan, planned.basis.windows
    if not plan.paused:
        return ""
    nothing = "" if has_read else "This run has read nothing. "
    first = first_paused(plan)
    if plan.limit is Limit.SLICE and windows is not None and first is not None:
        end = watermark.instant(windows.end(first[1]))
        return f"{nothing}The window that ends at {end} is still open, and is left for the next run."
    if plan.limit is Limit.HORIZON and (named := _why(planned, producers, now)) is not None:
        upto = watermark.instant(plan.ceiling, "the first record")
        return f"{nothing}Records above {upto} are left for the next run: {named[0]} {named[1]}."
    return nothing.strip()


def first_paused(plan: Plan[Key]) -> tuple[Key, int] | None:
    """Return the paused split, if any, with the oldest known next record, and its event time."""
    heads = [(key, head.event_time) for key in plan.paused if (head := plan.splits[key].next) is not None]
    first = min(heads, key=lambda each: each[1], default=None)
    return None if first is None or first[1] == watermark.MAX else first


def _why(planned: Planned, producers: Producers, now: int) -> tuple[str, str] | None:
    """Return the name of the split that the others wait for, and the reason; None without one."""
    key = blocker(planned, producers)
    return None if key is None else (names([key], planned.plan.splits)[key], producers.why(key, now))
