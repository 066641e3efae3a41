"""What a gate asks of a batch's session. In Spark Connect, its process has no JVM."""

from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

from lockgate_spark.connect import LACKS, ask, hinted, translated
from lockgate_spark.errors import Stopped, UnsupportedQuery
from lockgate_spark.event_times import TIME
from lockgate_spark.spark_lines import is_connect
from lockgate_spark.spark_run import SparkRun
from lockgate_spark.telemetry.progress_metrics import Gauges


@dataclass(slots=True)
class ConnectRun:
    """A `SparkRun` in a session of Spark Connect."""

    session: Any
    query_id: str
    run_id: str
    name: str | None
    available_now: bool
    interval_s: float
    in_group: bool

    def is_active(self) -> bool:
        query = self._query()
        return query is not None and bool(query.isActive)

    def check_active(self) -> None:
        if not self.is_active():
            raise Stopped()

    def ends_within(self, seconds: float) -> bool:
        query = self._query()
        try:
            return query is None or bool(query.awaitTermination(max(1, round(seconds))))
        except PySparkException:
            return True  # it has ended with an error

    def failed(self) -> bool:
        query = self._query()
        return query is not None and query.exception() is not None

    def _query(self) -> Any | None:
        query = self.session.streams.get(self.query_id)
        return query if query is not None and str(query.runId) == self.run_id else None


def run_of(batch: Any) -> SparkRun:
    if is_connect(batch):
        return ConnectRun(batch.sparkSession, **ask(batch, "query"))
    from lockgate_spark.jvm.query import QueryRun

    return QueryRun.of_batch(batch)


def gauges_of(run: Any) -> Gauges | None:
    if isinstance(run, ConnectRun):
        return None  # only the driver has Spark's metrics system
    from lockgate_spark.jvm import spark_gauges

    return spark_gauges.gauges_of(run)


def event_times(batch: Any, event_time: str) -> Any:
    """Return the event times of `batch` as the column `TIME`, null where the expression fails."""
    if not is_connect(batch):
        from lockgate_spark.jvm import event_time as classic

        return classic.event_times(batch, event_time)
    times = hinted(batch, "times", event_time=event_time)
    with translated():
        made = times.columns == [TIME]
    if not made:
        raise UnsupportedQuery(LACKS)
    return times
