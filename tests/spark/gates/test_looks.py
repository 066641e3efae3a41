"""The event times of a gated batch: those that can be used bound it, and none ends the query."""

import pytest
from pyspark.sql import SparkSession

from lockgate_spark.event_times import Credible, Span
from lockgate_spark.gates.foreach_batch import look
from lockgate_spark.jvm.event_time import event_times

NOON_MS = 1_777_636_800_000
AS_LONG = "CAST(text AS BIGINT)"
UNUSABLE = (None, "abc", "", "1e3", "-1000", "9223372036854775807", "9" * 30)


@pytest.mark.parametrize(
    "event_time",
    [
        AS_LONG,
        f"timestamp_millis({AS_LONG})",
        f"{AS_LONG} + 0 * {AS_LONG}",  # Spark computes first what stands there twice
        f"IF({AS_LONG} > 5, {AS_LONG}, raise_error('no'))",
    ],
)
def test_a_row_without_usable_time_bounds_no_batch_and_is_counted(spark: SparkSession, event_time: str) -> None:
    times = [str(NOON_MS), *UNUSABLE, str(NOON_MS + 5_000)]
    batch = spark.createDataFrame([(text,) for text in times], "text STRING")
    found = look(event_times(batch, event_time), event_time, Credible(0, NOON_MS + 86_400_000))
    assert found == (Span(NOON_MS, NOON_MS + 5_000), len(UNUSABLE))
