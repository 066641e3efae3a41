"""What planning reads from the run of a query; `jvm.query` gets it from Spark."""

from typing import Protocol

from lockgate.plan.windows import Zone
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.memory import Memory
from lockgate_spark.query_watermark import Checkpointed
from lockgate_spark.spark_run import SparkRun


class Run(SparkRun, Checkpointed, Protocol):
    """One run of one query, with its checkpoint."""

    def logged_offsets(self, source: int) -> Offsets | None:
        """Return where the checkpoint's last batch ends for this source; None if there is none."""

    def start_offsets(self, source: int) -> Offsets | None:
        """Return where the next batch of this source starts; None if the source was never read."""

    def memory(self, name: str = "") -> Memory:
        """Return the texts that are kept beside the checkpoint under this name."""

    def zone(self, name: str | None) -> Zone:
        """Return the time zone that Spark has under this name; the session's zone for None.

        Raises `ConfigurationError` for an unknown name.
        """
