"""Event times that fail, or are at the ends of what a number holds, in a plan of Spark."""

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.jvm.event_time import OF_KAFKA, unless_it_fails

NOON_MS = int(datetime(2026, 5, 1, 12, tzinfo=timezone.utc).timestamp() * 1000)
HIGHEST, LOWEST = 2**63 - 1, -(2**63)
COLUMNS = "topic STRING, partition INT, offset BIGINT, text STRING"
AS_LONG = "CAST(text AS BIGINT)"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[Any]:
    """A session of its own, which `createDataFrame` makes the active one until the test ends."""
    yield spark.newSession()
    spark.createDataFrame([], COLUMNS)


def texts(session: SparkSession, *values: str | None) -> DataFrame:
    return session.createDataFrame([("t", 0, n, text) for n, text in enumerate(values)], COLUMNS)


def times(session: Any, rows: DataFrame, event_time: str) -> list[int | None]:
    """The event times (ms) of rows; None where a row has none."""
    found = rows.select(unless_it_fails(session, event_time, OF_KAFKA).alias("at"), "offset").orderBy("offset")
    if dict(found.dtypes)["at"] == "timestamp":
        found = found.select(F.unix_millis("at").alias("at"))
    return [row["at"] for row in found.collect()]


@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
def test_event_time_is_the_same_instant_in_any_session_time_zone(session: Any, kind: str) -> None:
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.timestampType", kind)
    for event_time in (f"timestamp_millis({AS_LONG})", AS_LONG):
        assert times(session, texts(session, str(NOON_MS)), event_time) == [NOON_MS]


FAILING = [
    AS_LONG,
    "TRY_CAST(text AS BIGINT)",
    f"{AS_LONG} + 0 * {AS_LONG}",  # Spark computes first what stands there twice
    f"IF({AS_LONG} > 0, {AS_LONG}, {AS_LONG} * 1)",
    f"timestamp_millis({AS_LONG})",
    f"timestamp_micros({AS_LONG} * 1000)",
    f"to_timestamp(from_unixtime({AS_LONG} / 1000))",
    f"CAST({AS_LONG} / 1000 AS TIMESTAMP)",
    f"CAST({AS_LONG} / 1000 AS TIMESTAMP)::TIMESTAMP_NTZ::TIMESTAMP",
    f"IF(text = 'abc', raise_error('no'), {AS_LONG})",
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_row_whose_event_time_fails_has_none(session: Any, ansi: str) -> None:
    session.conf.set("spark.sql.ansi.enabled", ansi)
    unusable = (None, "abc", "", "9" * 30, "true")
    rows = texts(session, str(NOON_MS), *unusable, str(NOON_MS + 60_000))
    for event_time in FAILING:
        assert times(session, rows, event_time) == [NOON_MS, None, None, None, None, None, NOON_MS + 60_000], event_time


def test_times_at_the_ends_of_long_overflow_to_none(spark: SparkSession) -> None:
    extremes = [HIGHEST, HIGHEST // 1000 + 1, LOWEST, HIGHEST // 1000, -1, 0]
    rows = texts(spark, *map(str, extremes))
    assert times(spark, rows, AS_LONG) == extremes
    assert times(spark, rows, f"timestamp_millis({AS_LONG})") == [None, None, None, *extremes[3:]]
