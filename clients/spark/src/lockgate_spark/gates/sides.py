"""The two sides on which a gate runs: the driver of a classic session, and the process that a
Connect server starts for the foreachBatch function of one query.
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from lockgate_spark.gates.gate import GatedRun
from lockgate_spark.group.joining import NamedRun
from lockgate_spark.spark_lines import is_connect
from lockgate_spark.stopping import ActiveRun
from lockgate_spark.telemetry.gauges import Gauges


class BatchRun(GatedRun, NamedRun, ActiveRun, Protocol):
    """The run of a query, as the function of its batches knows it."""


class Side(Protocol):
    """What a gate needs of the session of a batch. `run`: one that this side gave."""

    def run_of(self, batch: Any) -> BatchRun:
        """Return the run of the batch's query. Raises `UnsupportedQuery`."""

    def in_group(self, run: Any) -> bool:
        """Return whether its sources are aligned in a group already."""

    def gauges(self, batch: Any, run: Any) -> Gauges | None:
        """Where the gate shows its numbers, if anywhere."""

    def times(self, batch: Any, event_time: str) -> Any:
        """Return the event times of a batch, the column `TIME`; null where the SQL expression is
        null or fails.
        """

    def check_running(self, batch: Any, run: Any) -> None:
        """Raise `Stopped` after `query.stop()`."""

    def log_errors_briefly(self) -> AbstractContextManager[None]:
        """Log an error as one sentence, before Spark shows it with its stack."""


def side_of(batch: Any) -> Side:
    """Return the side that hands out this batch: a classic session or Spark Connect."""
    if is_connect(batch):
        from lockgate_spark.gates.over_connect import ConnectSide

        return ConnectSide()
    from lockgate_spark.jvm.batch import ClassicSide

    return ClassicSide()
