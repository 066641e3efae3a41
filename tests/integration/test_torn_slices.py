"""Tables that are overwritten by window, on a real broker: by local hours and days, begun amid a
window, overtaken by deletion.
"""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

import lockgate_spark
from lockgate_spark import Alignment, BatchSlice, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import PATIENCE_S, kafka_stream
from support.zones import HOUR, at

CHECKOUT = Path(__file__).parents[2]
GUIDE = CHECKOUT / "docs" / "guide" / "window-aligned-batches.md"
HOURLY = runpy.run_path(str(CHECKOUT / "examples" / "hourly_partitions.py"))["HourlyPartitions"]
KOLKATA, NEW_YORK = "Asia/Kolkata", "America/New_York"
AN_HOUR = 720  # records, one in 5 s


def fill(kafka: KafkaBroker, topic: str, begin: int, hours: int) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, begin + n * 5_000, None, b"x") for n in range(hours * AN_HOUR)])


def in_zone(spark: SparkSession, name: str) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", name)
    return own


def run(df: DataFrame, write: Any, checkpoint: Path) -> None:
    query = (
        df.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)


def rows(spark: SparkSession, path: str, by: str) -> dict[str, int]:
    return {str(row[by]): row["count"] for row in spark.read.parquet(path).groupBy(by).count().collect()}


def test_a_table_by_local_hours_has_each_hour_whole_and_keeps_it_when_a_query_begins_amid_it(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    fill(kafka, topic, at("2026-01-05T10:00", KOLKATA), hours=3)
    spark, sink, hour = in_zone(spark, KOLKATA), HOURLY(str(tmp_path / "out")), Alignment(slice="1 hour")
    whole = {f"2026-01-05T{hour}": AN_HOUR for hour in (10, 11, 12)}
    run(
        align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000), hour),
        sink.write,
        tmp_path / "one",
    )
    assert rows(spark, sink.hours, "hour") == whole
    later = at("2026-01-05T10:37", KOLKATA)
    run(
        align(kafka_stream(spark, kafka.bootstrap, topic, startingTimestamp=later), hour),
        sink.write,
        tmp_path / "other",
    )
    assert rows(spark, sink.hours, "hour") == whole
    assert rows(spark, sink.parts, "hour") == {"2026-01-05T10": 23 * 12}


@pytest.mark.long
def test_the_guide_s_table_by_local_days_has_each_day_whole(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    fill(kafka, topic, at("2026-01-05T18:00", NEW_YORK), hours=12)
    block = re.search(r"## A table by local days\n.*?```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    code = block[1].replace('"by-day"', repr(str(tmp_path)))
    own = spark.newSession()

    def read(_: str, batch: int) -> DataFrame:
        return kafka_stream(own, kafka.bootstrap, topic, maxOffsetsPerTrigger=batch // 400)

    exec(code, {"spark": own, "read": read, "align": align, "Alignment": Alignment})
    assert rows(in_zone(spark, NEW_YORK), f"{tmp_path}/days", "day") == {
        "2026-01-05": 6 * AN_HOUR,
        "2026-01-06": 6 * AN_HOUR,
    }
    assert not (tmp_path / "parts").exists()


@pytest.mark.long
def test_an_hour_of_which_kafka_has_deleted_records_in_mid_run_is_not_complete(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    begin = at("2026-01-05T10:00", "UTC")
    fill(kafka, topic, begin, hours=4)
    slices: list[tuple[BatchSlice, int]] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        found = lockgate_spark.slice_of(batch)
        assert found is not None
        slices.append((found, found.rows(batch).count()))
        if batch_id == 0:
            admin, gone = AdminClient({"bootstrap.servers": kafka.bootstrap}), TopicPartition(topic, 0, AN_HOUR + 444)
            admin.delete_records([gone])[gone].result()

    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000, failOnDataLoss="false")
    run(align(stream, Alignment(slice="1 hour")), write, tmp_path)
    assert [found.start for found, _ in slices] == [begin + n * HOUR for n in range(4)]
    assert [(found.complete, found.missing_from) for found, _ in slices] == [
        (True, ()),
        (False, (f"{topic}-0",)),
        (True, ()),
        (True, ()),
    ]
    assert [n for found, n in slices if found.complete] == [AN_HOUR] * 3
