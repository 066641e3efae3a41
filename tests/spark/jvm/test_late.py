"""The count of rows that are behind Spark's watermark."""

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.jvm.late import LateRows
from lockgate_spark.jvm.names import option

NOON_MS = int(datetime(2026, 5, 1, 12, tzinfo=timezone.utc).timestamp() * 1000)
HOUR_MS = 3_600_000


@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
def test_a_row_is_late_by_its_instant_whatever_timestamps_mean_in_its_session(spark: SparkSession, kind: str) -> None:
    session: Any = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.timestampType", kind)
    times = (NOON_MS - HOUR_MS, NOON_MS + HOUR_MS)
    rows = session.createDataFrame([("t", 0, ms) for ms in times], "topic STRING, partition INT, ms BIGINT")
    late = LateRows(session, "timestamp_millis(ms)", micros=True)
    plan = late.over(rows._jdf.queryExecution().analyzed())
    late.place.below.setLong(0, 1000 * NOON_MS)
    java = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)

    assert len(DataFrame(java, session).collect()) == 2
    found = json.loads(option(java.queryExecution().observedMetrics().get(late.place.name)).json())

    assert (found["oldest"], found["splits"][0]["y"]) == (times[0], 1.0)
