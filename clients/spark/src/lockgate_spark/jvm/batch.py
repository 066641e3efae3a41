"""A gated batch in a classic session."""

from contextlib import AbstractContextManager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from lockgate_spark.errors import Stopped
from lockgate_spark.event_times import TIME
from lockgate_spark.jvm.event_time import OF_ANY, unless_it_fails
from lockgate_spark.jvm.failures import log_errors_briefly
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.jvm.spark_gauges import spark_gauges
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.stopping import ActiveRun
from lockgate_spark.telemetry.gauges import Gauges


class ClassicSide:
    """What a gate needs of the session of a batch."""

    def run_of(self, batch: Any) -> QueryRun:
        """Return the run of the batch's query."""
        return QueryRun.of_batch(batch)

    def in_group(self, run: QueryRun) -> bool:
        """Return whether its sources are aligned in a group already."""
        aligned = running.of_query(AlignedRun, run.query_id)
        return aligned is not None and aligned.membership is not None

    def gauges(self, batch: Any, run: Any) -> Gauges | None:
        """Where the gate shows its numbers, if anywhere."""
        return spark_gauges(run, batch.sparkSession.sparkContext._gateway)

    def times(self, batch: Any, event_time: str) -> Any:
        """Return the event times of a batch, the column `TIME`."""
        return event_times(batch, event_time)

    def check_running(self, batch: Any, run: ActiveRun) -> None:
        """Raise `Stopped` after `query.stop()`."""
        check_running(batch.sparkSession, run)

    def log_errors_briefly(self) -> AbstractContextManager[None]:
        """Log an error as one sentence, before Spark shows it with its stack."""
        return log_errors_briefly()


def event_times(batch: DataFrame, event_time: str) -> DataFrame:
    """Return the event times of a batch, the column `TIME`; null where the SQL expression is null
    or fails.
    """
    return batch.select(unless_it_fails(batch.sparkSession, event_time, OF_ANY).alias(TIME))


def check_running(spark: Any, run: ActiveRun) -> None:
    """Raise `Stopped` after `query.stop()`, for the query of the calling thread.

    If Python's threads are not pinned to the JVM's, only the run's state shows it, not an
    interrupt.
    """
    if not run.is_active():
        raise Stopped()
    try:
        # py4j runs a callback on Spark's thread, which stop() interrupts
        spark._jvm.java.lang.Thread.sleep(1)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.InterruptedException":
            raise
        raise Stopped() from None  # without py4j's text
