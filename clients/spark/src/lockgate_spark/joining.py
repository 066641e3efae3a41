"""Checks a query's settings before it joins its group, and makes the membership of a run."""

from lockgate.wire.events import CatchUp
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.spark_run import SparkRun


def agreement_of(alignment: Alignment) -> Agreement:
    """Return the settings on which a query, which has a coordinator, must agree with its group."""
    assert alignment.coordinator is not None
    bounds = bounds_of(alignment)
    return Agreement(
        group=alignment.coordinator.group,
        max_drift=bounds.max_drift,
        chose_drift=alignment.max_drift is not None,
        disorder=bounds.disorder,
        catch_up=CatchUp(alignment.coordinator.catch_up),
    )


def joined(alignment: Alignment, run: SparkRun) -> Membership | None:
    """Join the group for one run. Return None without a group, and in observe mode."""
    coordinator = alignment.coordinator
    if coordinator is None or alignment.mode == "observe":
        return None  # a reader that reports would hold other queries
    source = source_name(coordinator.source, run.name, run.query_id)
    session = GroupSession.joined(coordinator)
    return Membership(session, coordinator, agreement_of(alignment), source, owner=run.query_id, run=run.run_id)
