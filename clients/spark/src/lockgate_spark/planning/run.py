"""The run of a query, as the planning sees it; `jvm.query` reads it off Spark."""

from typing import Protocol

from lockgate.plan.windows import Zone
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.memory import Memory
from lockgate_spark.query_watermark import Checkpointed


class Run(Checkpointed, Protocol):
    """One run of one query."""

    @property
    def available_now(self) -> bool:
        """Return whether the run ends when it has read what was there at its start."""

    @property
    def interval_s(self) -> float:
        """How far apart its triggers are; 0 where one follows the other."""

    def is_active(self) -> bool:
        """Return false once the query was stopped."""

    def failed(self) -> bool:
        """Return whether the run has ended with an error."""

    def logged_offsets(self, source: int) -> Offsets | None:
        """Where the checkpoint's last batch ends for this source; None without one."""

    def start_offsets(self, source: int) -> Offsets | None:
        """Where the next batch of this source starts; None where the source is read for the first
        time.
        """

    def memory(self, name: str = "") -> Memory:
        """Return what is kept beside the checkpoint under this name."""

    def zone(self, name: str | None) -> Zone:
        """Return the clocks of a time zone, by Spark's name for it; None stands for the session's.

        Raises `ConfigurationError` for an unknown name.
        """
