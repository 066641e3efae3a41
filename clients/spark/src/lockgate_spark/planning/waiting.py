"""Find the reason why a plan reads nothing, as a wait."""

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import Coordination
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.slices import Slices
from lockgate_spark.telemetry.waits import Wait, for_coordinator, for_group, for_operator, for_split, for_window


def wait_of(
    plan: Plan[Key], membership: Membership | None, slices: Slices | None, holder: tuple[str, str] | None, brief: bool
) -> Wait | None:
    """Return the wait of a plan; None if it reads, or nothing is left.

    `holder`: the name of the split that the others wait for, and why. `brief`: that split is waited
    for only at the start.
    """
    if plan.offsets or not plan.paused:
        return None
    first = first_paused(plan)
    if plan.limit is Limit.GROUP and membership is not None:
        if membership.coordination is Coordination.HOLDING:
            return for_coordinator(membership.last)
        if membership.paused is not None:
            return for_operator(membership.group, membership.paused)
        return for_group(membership.group, membership.last, None if first is None else first[1])
    if plan.limit is Limit.HORIZON and holder is not None:
        return for_split(*holder, plan.ceiling, brief=brief)
    if plan.limit is Limit.SLICE and slices is not None and first is not None:
        return for_window(slices.windows.end(first[1]))
    return None


def first_paused(plan: Plan[Key]) -> tuple[Key, int] | None:
    """Return the paused split whose next record is the oldest, and the event time (ms) of that
    record.
    """
    heads = [(key, head.event_time) for key in plan.paused if (head := plan.splits[key].next) is not None]
    first = min(heads, key=lambda each: each[1], default=None)
    return None if first is None or first[1] == watermark.MAX else first
