"""Functions that gates use in a classic session."""

from pyspark.sql import DataFrame

from lockgate_spark.event_times import TIME
from lockgate_spark.jvm.event_time import OF_ANY, unless_it_fails
from lockgate_spark.jvm.failures import quiet_callbacks
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.jvm.spark_gauges import gauges_of as gauges_of


def run_of(batch: DataFrame) -> QueryRun:
    quiet_callbacks()
    return QueryRun.of_batch(batch)


def event_times(batch: DataFrame, event_time: str) -> DataFrame:
    """Return the event times of `batch` as the column `TIME`, null where the expression fails."""
    return batch.select(unless_it_fails(batch.sparkSession, event_time, OF_ANY).alias(TIME))
