"""The way of a query into its group: the checks before the query runs, and the membership of one
run.
"""

import logging
from typing import Protocol

from lockgate_spark.config import Alignment
from lockgate_spark.errors import ConfigurationError
from lockgate_spark.group.agreement import check_config, source_name
from lockgate_spark.group.client import CoordinatorClient, NotRegistered, Unreachable, Untrusted
from lockgate_spark.group.group_session import GroupSession
from lockgate_spark.group.membership import Membership
from lockgate_spark.group.new_groups import meet_new_group

log = logging.getLogger("lockgate")


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


def joined(alignment: Alignment, run: NamedRun) -> Membership | None:
    """The run's membership in its group; None without a group, and in mode observe."""
    if alignment.coordinator is None or alignment.observes:
        return None  # a reader that reports would hold other queries
    source = source_name(alignment.coordinator.source, run.name, run.query_id)
    return Membership(GroupSession.joined(alignment.coordinator), alignment, source, owner=run.query_id, run=run.run_id)


def check_coordinator(alignment: Alignment) -> None:
    """Finds before the query runs that the token is refused, or that the group has another
    configuration.
    """
    assert alignment.coordinator is not None
    with CoordinatorClient(alignment.coordinator) as client:
        try:
            check_config(alignment, client.config())
        except NotRegistered:
            meet_new_group(client, alignment.coordinator)
        except Untrusted as error:
            raise ConfigurationError(str(error)) from None
        except Unreachable as error:
            log.warning("%s. The query will wait for it. Does it run, and is Coordinator(url=…) right?", error)
