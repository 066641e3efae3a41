"""The query of one run, as planning sees it."""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment
from lockgate_spark.logs.unread import Source
from lockgate_spark.spark_run import Checkpointed


@dataclass(frozen=True, slots=True)
class Query:
    """The settings, the run and the sources of a query. Spark opens the sources one by one.
    `membership` is None without a group, and in observe mode.
    """

    alignment: Alignment
    run: Checkpointed
    membership: Membership | None
    sources: Mapping[int, Source]

    @property
    def observes(self) -> bool:
        """Whether plans are made, but not applied."""
        return self.alignment.mode == "observe"
