"""How a query joins its group: the checks before it runs, and the membership of one run."""

from typing import Protocol

from lockgate.wire.events import CatchUp
from lockgate_http.group import joining
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment, bounds_of


class NamedRun(Protocol):
    """The names that Spark has for one run of one query."""

    @property
    def query_id(self) -> str:
        """Spark's id of the query; it lives in the checkpoint."""

    @property
    def run_id(self) -> str:
        """Spark's id of this run."""

    @property
    def name(self) -> str | None:
        """The query's name, if it was given one."""


def agreement_of(alignment: Alignment) -> Agreement:
    """Return what a query's settings require of its group."""
    assert alignment.coordinator is not None
    return Agreement(
        group=alignment.coordinator.group,
        max_drift=bounds_of(alignment).max_drift,
        chose_drift=alignment.max_drift is not None,
        disorder=bounds_of(alignment).disorder,
        catch_up=CatchUp(alignment.coordinator.catch_up),
    )


def joined(alignment: Alignment, run: NamedRun) -> Membership | None:
    """Return the run's membership in its group; None without a group, and in mode observe."""
    coordinator = alignment.coordinator
    if coordinator is None or alignment.mode == "observe":
        return None  # a reader that reports would hold other queries
    source = source_name(coordinator.source, run.name, run.query_id)
    session = GroupSession.joined(coordinator)
    return Membership(session, coordinator, agreement_of(alignment), source, owner=run.query_id, run=run.run_id)


def check_coordinator(alignment: Alignment) -> None:
    """Check before the query runs that the token is accepted and the group's settings match."""
    assert alignment.coordinator is not None
    joining.check_coordinator(alignment.coordinator, agreement_of(alignment))
