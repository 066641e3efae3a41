"""Functions that derive from a plan why the query waits."""

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate_http.group.membership import Membership
from lockgate_spark.logs.unread import Key, names
from lockgate_spark.planning.look import Looker
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.steps import Planned
from lockgate_spark.telemetry.waits import Wait, for_member, for_split, for_window


def blocker(planned: Planned, producers: Producers) -> Key | None:
    """Return the split for which the others wait, if any: the paused one with the oldest next
    record if a record ahead of the clock has stopped it, else the one with the lowest watermark.
    """
    first = first_paused(planned.plan)
    return first[0] if first is not None and first[0] in producers.ahead.stopped else planned.draft.slowest


def wait_after(planned: Planned, looker: Looker, membership: Membership | None, now: int) -> Wait | None:
    """Return what keeps the query from reading more than the plan `planned`, if it waits for
    something. `now` is the wall-clock time in ms.
    """
    plan, first = planned.plan, first_paused(planned.plan)
    if plan.limit is Limit.GROUP and membership is not None and plan.paused:
        return for_member(membership, None if first is None else first[1])
    if plan.limit is Limit.SLICE and looker.slices is not None and first is not None:
        return for_window(looker.slices.windows.end(first[1]))
    if plan.limit is Limit.HORIZON and plan.paused and (key := blocker(planned, looker.producers)) is not None:
        name, why = names([key], plan.splits)[key], looker.producers.why(key, now)
        return for_split(name, why, plan.ceiling, brief=looker.producers.careful)
    return None


def first_paused(plan: Plan[Key]) -> tuple[Key, int] | None:
    """Return the paused split, if any, with the oldest known next record, and its event time."""
    heads = [(key, head.event_time) for key in plan.paused if (head := plan.splits[key].next) is not None]
    first = min(heads, key=lambda each: each[1], default=None)
    return None if first is None or first[1] == watermark.MAX else first
