"""The count of rows that are behind Spark's watermark."""

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.jvm.counted import CountedPlace
from lockgate_spark.jvm.late import LateRows
from lockgate_spark.jvm.names import option

NOON_MS = int(datetime(2026, 5, 1, 12, tzinfo=timezone.utc).timestamp() * 1000)
HOUR_MS = 3_600_000
HIGHEST, LOWEST = 2**63 - 1, -(2**63)
COLUMNS = "topic STRING, partition INT, offset BIGINT, text STRING"
AS_LONG = "CAST(text AS BIGINT)"


def counted(session: Any, rows: DataFrame, watermark_ms: int, *event_times: str) -> list[CountedPlace]:
    """What is counted of `rows`, read in one go, behind a watermark, by each event time."""
    plan, places = rows._jdf.queryExecution().analyzed(), []
    for event_time in event_times:
        late = LateRows(session, event_time, rows.selectExpr(event_time).dtypes[0][1] == "timestamp")
        late.set_below(1000 * watermark_ms, 1000 * (watermark_ms - HOUR_MS))
        plan = late.over(plan)
        places.append(late.place)
    java = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
    read = len(DataFrame(java, session).collect())
    observed = java.queryExecution().observedMetrics()
    found = [json.loads(option(observed.get(place.name)).json()) for place in places]
    return [CountedPlace.of(each, 1_000, {}, {"t-0": read}) for each in found]


def texts(session: SparkSession, *values: str | None) -> DataFrame:
    return session.createDataFrame([("t", 0, n, text) for n, text in enumerate(values)], COLUMNS)


@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
def test_row_is_late_by_its_instant_in_any_session_time_zone(spark: SparkSession, kind: str) -> None:
    session: Any = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.timestampType", kind)
    rows = texts(session, *(str(NOON_MS + hours * HOUR_MS) for hours in (-1, 1)))
    for found in counted(session, rows, NOON_MS, f"timestamp_millis({AS_LONG})", AS_LONG):
        assert (found.oldest, found.late, found.lost) == (NOON_MS - HOUR_MS, {"t-0": 1}, {"t-0": 1})


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
def test_a_row_without_usable_time_is_never_late(spark: SparkSession, ansi: str) -> None:
    session: Any = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    late, fine = (str(NOON_MS + minutes * 60_000) for minutes in (-30, 30))
    unusable = (None, "abc", "", "1e3", "-1000", "-62135596800000", "9" * 30, "true")
    rows = texts(session, late, *unusable, fine).repartition(3)
    for found in counted(session, rows, NOON_MS, *FAILING):
        assert (found.late, found.lost, found.rows, found.oldest) == ({"t-0": 1}, {}, 10, NOON_MS - HOUR_MS // 2)
        if ansi == "true":
            assert (found.early, found.untimed) == (2, 6)


@pytest.mark.parametrize("watermark_ms", [0, NOON_MS, HIGHEST // 1000])
def test_event_times_at_the_ends_of_long_are_compared_without_overflow(spark: SparkSession, watermark_ms: int) -> None:
    extremes = [HIGHEST, HIGHEST - 1, HIGHEST // 1000, HIGHEST // 1000 + 1, LOWEST, LOWEST + 1, -1, 0, NOON_MS]
    rows, late = texts(spark, *map(str, extremes)), sum(0 <= each <= watermark_ms for each in extremes)
    as_long, as_timestamp = counted(spark, rows, watermark_ms, AS_LONG, f"timestamp_millis({AS_LONG})")
    assert sum(as_long.late.values()) == sum(as_timestamp.late.values()) == late
    assert (as_long.early, as_long.untimed) == (3, 0)
    assert (as_timestamp.early, as_timestamp.untimed) == (1, 5)


def test_several_tasks_of_one_partition_add_up(spark: SparkSession) -> None:
    rows = texts(spark, *(str(NOON_MS - n) for n in range(60))).repartition(6)
    assert counted(spark, rows, NOON_MS, AS_LONG)[0].late == {"t-0": 60}
