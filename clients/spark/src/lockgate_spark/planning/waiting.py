"""What a query waits for by its plan, and what its last plan leaves to the next run."""

from collections.abc import Callable
from functools import partial

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate.plan.windows import Windows
from lockgate_http.group.membership import Membership
from lockgate_spark.logs.names import names
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.steps import Planned
from lockgate_spark.telemetry.waits import Wait, Waits, for_member, for_split, for_window


def blocker(planned: Planned, producers: Producers) -> Key | None:
    """Return the split that limits a plan's horizon. If the next split to be read is stopped,
    return that one.
    """
    first = first_paused(planned.plan)
    return first[0] if first is not None and first[0] in producers.stopped else planned.basis.draft.slowest


def see_wait(planned: Planned, waits: Waits, membership: Membership | None, producers: Producers, now: int) -> None:
    """Note what the query waits for by a plan, if it does. `now` is the wall clock in ms."""
    plan, wait = planned.plan, None
    if not planned.put_off:
        why = partial(_why, planned, producers, now)
        wait = wait_of(plan, membership, planned.basis.windows, why, producers.careful)
    waits.seen(wait, plan.target if plan.offsets or planned.put_off else None)


def wait_of(
    plan: Plan[Key],
    membership: Membership | None,
    windows: Windows | None,
    why: Callable[[], tuple[str, str] | None],
    brief: bool,
) -> Wait | None:
    """Return the wait of a plan; None if it reads, or if nothing is left to read.

    `why` returns the name of the split that the others wait for, and the reason. `brief` says that
    this wait ends within seconds.
    """
    if plan.offsets or not plan.paused:
        return None
    first = first_paused(plan)
    if plan.limit is Limit.GROUP and membership is not None:
        return for_member(membership, None if first is None else first[1])
    if plan.limit is Limit.HORIZON and (named := why()) is not None:
        return for_split(*named, plan.ceiling, brief=brief)
    if plan.limit is Limit.SLICE and windows is not None and first is not None:
        return for_window(windows.end(first[1]))
    return None


def left_over(planned: Planned, producers: Producers, *, has_read: bool, now: int) -> str:
    """Return what a run under `availableNow` leaves to the next one if it ends with this plan, in
    sentences. Return an empty text if that is nothing.
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
    """Return the paused split whose next record is the oldest, and that record's event time (ms);
    None if there is none.
    """
    heads = [(key, head.event_time) for key in plan.paused if (head := plan.splits[key].next) is not None]
    first = min(heads, key=lambda each: each[1], default=None)
    return None if first is None or first[1] == watermark.MAX else first


def _why(planned: Planned, producers: Producers, now: int) -> tuple[str, str] | None:
    """Return the name of the split that the others wait for, and the reason; None if there is
    none.
    """
    key = blocker(planned, producers)
    return None if key is None else (names([key], planned.plan.splits)[key], producers.why(key, now))
