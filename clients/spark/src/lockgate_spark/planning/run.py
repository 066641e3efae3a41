"""The query of one run, as planning sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from lockgate.plan.windows import Zone
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Source
from lockgate_spark.planning.memory import Memory
from lockgate_spark.query_watermark import Checkpointed
from lockgate_spark.spark_run import SparkRun


class Run(SparkRun, Checkpointed, Protocol):
    """One run of one query, with its checkpoint. `jvm.query` implements it."""

    def logged_offsets(self, source: int) -> Offsets | None:
        """Return the offsets at which the checkpoint's last batch ends for this source, if any."""

    def start_offsets(self, source: int) -> Offsets | None:
        """Return the offsets at which the source's next batch starts; None if it was never read."""

    def memory(self, name: str = "") -> Memory:
        """Return the storage of texts in the checkpoint's files whose names begin with `name`."""

    def zone(self, name: str | None) -> Zone:
        """Return the time zone called `name` as Spark defines it; the session's for None. Raises
        `ConfigurationError` for an unknown name.
        """


@dataclass(frozen=True, slots=True)
class Query:
    """The settings, the run and the sources of a query. Spark opens the sources one by one.
    `membership` is None without a group, and in observe mode.
    """

    alignment: Alignment
    run: Run
    membership: Membership | None
    sources: Mapping[int, Source]

    @property
    def observes(self) -> bool:
        """Whether plans are made, but not applied."""
        return self.alignment.mode == "observe"
