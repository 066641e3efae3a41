"""The interface through which planning uses the run of a query. `jvm.query` implements it."""

from typing import Protocol

from lockgate.plan.windows import Zone
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.memory import Memory
from lockgate_spark.query_watermark import Checkpointed
from lockgate_spark.spark_run import SparkRun


class Run(SparkRun, Checkpointed, Protocol):
    """One run of one query, with its checkpoint."""

    def logged_offsets(self, source: int) -> Offsets | None:
        """Return the offsets at which the checkpoint's last batch ends for this source; None if
        there is no such batch.
        """

    def start_offsets(self, source: int) -> Offsets | None:
        """Return the offsets at which the next batch of this source starts; None if the source was
        never read.
        """

    def memory(self, name: str = "") -> Memory:
        """Return the storage beside the checkpoint for the last two versions of a text. The names
        of its files begin with `name`.
        """

    def zone(self, name: str | None) -> Zone:
        """Return the time zone called `name` as Spark defines it; the session's time zone for None.

        Raises `ConfigurationError` for an unknown name.
        """
