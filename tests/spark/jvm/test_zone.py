"""Spark's own tables of time zones, against Python's, and windows against what Spark's functions
give one name.
"""

import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession

from lockgate.plan.windows import DAY, WEEK, Windows, Zone
from lockgate_spark import Alignment, ConfigurationError, align
from lockgate_spark.jvm.query import zone_of
from support.zones import HOUR, at, zone

SINCE, UNTIL = at("2000-01-01T00:00", "UTC"), at("2020-01-01T00:00", "UTC")


@pytest.mark.parametrize(
    "name", ["Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]
)
def test_the_changes_of_clocks_are_those_that_python_knows(spark: SparkSession, name: str) -> None:
    found, known = zone_of(spark._jvm, name), zone(name)
    assert [change for change in found.changes if SINCE <= change[0] < UNTIL] == [
        c for c in known.changes if SINCE <= c[0] < UNTIL
    ]
    assert [found.local(instant) for instant in (0, SINCE, UNTIL)] == [
        known.local(instant) for instant in (0, SINCE, UNTIL)
    ]


def test_spark_s_other_names_for_zones_are_known(spark: SparkSession) -> None:
    assert zone_of(spark._jvm, "+05:30") == Zone(19_800_000)
    assert zone_of(spark._jvm, "UTC-3") == Zone(-3 * HOUR)


@pytest.mark.parametrize(("unit", "size"), [("WEEK", WEEK), ("DAY", DAY), ("HOUR", HOUR)])
@pytest.mark.parametrize("name", ["America/New_York", "Asia/Kathmandu"])
def test_what_date_trunc_puts_together_lies_in_one_window(spark: SparkSession, name: str, unit: str, size: int) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", name)
    begin, windows = at("2026-10-20T00:00", "UTC"), Windows(size, zone_of(spark._jvm, name))
    every_7_minutes = session.range(begin, begin + 20 * DAY, 420_000).withColumn("time", F.timestamp_millis("id"))
    found = every_7_minutes.groupBy(F.date_trunc(unit, "time").alias("name")).agg(
        F.min("id").alias("low"), F.max("id").alias("high")
    )
    rows = found.collect()
    assert len(rows) >= 20 * DAY // size
    assert all(windows.begin(row["low"]) == windows.begin(row["high"]) for row in rows)


def test_a_zone_that_spark_does_not_know_is_refused_when_align_is_called(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ConfigurationError, match=r"slice_zone='Mars/Olympus'.*Europe/Berlin"):
        align(stream, Alignment(slice="1 day", slice_zone="Mars/Olympus"))
