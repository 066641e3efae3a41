"""State of other kinds than a window's, and payloads in Avro: exact rows on a real broker, where
native Spark loses some.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from lockgate_spark import Alignment, align
from lockgate_testbed import jars, topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS
from support.queries import PATIENCE_S, WindowedCount, kafka_stream

STATE = "spark.sql.streaming.stateStore."
ROCKS_DB = {
    STATE + "providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    STATE + "rocksdb.changelogCheckpointing.enabled": "true",
}
HOURS, BUDGET = 6, 100


@pytest.fixture
def rocks_db(spark: SparkSession) -> Iterator[None]:
    for key, value in ROCKS_DB.items():
        spark.conf.set(key, value)
    yield
    for key in ROCKS_DB:
        spark.conf.unset(key)


def records(first: int, last: int) -> list[tuple[int, int, bytes, bytes]]:
    """Records of hours `first` to `last`. Partition 0 is busy in the first half of all hours and
    partition 1 in the second, so that natively one of them runs ahead. Two keys in each.
    """
    found = []
    for hour in range(first, last):
        for partition in (0, 1):
            count = 60 if partition == (hour >= HOURS // 2) else 10
            times = (T0_MS + hour * HOUR_MS + n * HOUR_MS // count for n in range(count))
            found += [(partition, time, b"%d-%d" % (partition, n % 2), b"x") for n, time in enumerate(times)]
    return found


def closing(hour: int) -> list[tuple[int, int, bytes, bytes]]:
    """Records that take the watermark past all that came before."""
    return [(partition, T0_MS + (hour + 2) * HOUR_MS, b"closing", b"x") for partition in (0, 1)]


def expected(first: int, last: int) -> Counter[tuple[str, int]]:
    """Records by key and hour."""
    return Counter((key.decode(), (time - T0_MS) // HOUR_MS) for _, time, key, _ in records(first, last))


def run(df: DataFrame, checkpoint: Path, mode: str = "update") -> list[Row]:
    """All rows that the query gives until it ends by itself."""
    rows: list[Row] = []

    def take(batch: DataFrame, _: int) -> None:
        rows.extend(batch.collect())

    writer = df.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint)).outputMode(mode)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return rows


def hourly_count() -> StatefulProcessor:
    """A processor that counts a key's rows by hour, and gives each count when the hour is over: by
    a timer in event time.

    Its class is made here, for a worker cannot import this module.
    """

    class HourlyCount(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._counts = handle.getMapState("counts", "end bigint", "count bigint")

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            for row in rows:
                end = (int(row["timestamp"].timestamp() * 1000) // HOUR_MS + 1) * HOUR_MS
                before = self._counts.getValue((end,))[0] if self._counts.containsKey((end,)) else 0
                self._counts.updateValue((end,), (before + 1,))
                self._handle.registerTimer(end)
            yield from ()

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            end = expiredTimerInfo.getExpiryTimeInMs()
            yield Row(key=key[0], hour=(end - T0_MS) // HOUR_MS - 1, count=self._counts.getValue((end,))[0])
            self._counts.removeKey((end,))

        def close(self) -> None: ...

    return HourlyCount()


def counted_by_timers(stream: DataFrame) -> DataFrame:
    rows = stream.selectExpr("CAST(key AS STRING) AS key", "timestamp").withWatermark("timestamp", "10 minutes")
    return rows.groupBy("key").transformWithState(
        hourly_count(), "key string, hour bigint, count bigint", "Update", "EventTime"
    )


@pytest.mark.long
def test_timers_of_transform_with_state_fire_when_all_of_their_hour_has_come(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, rocks_db: None
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, records(0, HOURS) + closing(HOURS))
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)
    counts = {}
    for way, source in (("native", stream), ("aligned", align(stream))):
        rows = run(counted_by_timers(source), tmp_path / way)
        counts[way] = sorted((row["key"], row["hour"], row["count"]) for row in rows if row["key"] != "closing")
    assert counts["aligned"] == sorted((*key, count) for key, count in expected(0, HOURS).items())
    assert sum(count for *_, count in counts["native"]) < sum(expected(0, HOURS).values())


@pytest.mark.long
def test_state_in_rocks_db_with_changelogs_under_a_join_with_a_table_is_exact_over_restarts(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, rocks_db: None
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    names = spark.createDataFrame([("0-0", "a"), ("0-1", "b"), ("1-0", "c"), ("1-1", "d")], "key string, name string")
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)

    def counts(source: DataFrame) -> DataFrame:
        joined = source.selectExpr("CAST(key AS STRING) AS key", "timestamp").join(names, "key", "left")
        return joined.withWatermark("timestamp", "10 minutes").groupBy("name", F.window("timestamp", "1 hour")).count()

    found: Counter[tuple[str, int]] = Counter()
    third = HOURS // 3
    for n, part in enumerate(range(0, HOURS, third)):
        topics.produce(kafka.bootstrap, topic, records(part, part + third) + (closing(HOURS) if n == 2 else []))
        for row in run(counts(align(stream)), tmp_path / "checkpoint", "append"):
            found[row["name"], int(row["window"]["start"].timestamp() * 1000 - T0_MS) // HOUR_MS] += row["count"]
    native = run(counts(stream), tmp_path / "native", "append")
    by_name = {"0-0": "a", "0-1": "b", "1-0": "c", "1-1": "d"}
    assert found == Counter({(by_name[key], hour): count for (key, hour), count in expected(0, HOURS).items()})
    assert list((tmp_path / "checkpoint").rglob("*.changelog")), "as changelogs"
    assert sum(row["count"] for row in native) < found.total()


FIELD = {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}}
SCHEMA = json.dumps({"type": "record", "name": "order", "fields": [FIELD]})
PLACED = f"from_avro(value, '{SCHEMA}', map()).placed"


@pytest.mark.long
def test_no_row_is_lost_by_an_event_time_in_avro(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    for jar in jars.avro():
        spark.sql(f"ADD JAR '{jar}'")
    logs = records(0, HOURS)
    placed = spark.createDataFrame([(time,) for _, time, _, _ in logs], "time bigint").coalesce(1)
    encoded = placed.selectExpr(f"to_avro(named_struct('placed', timestamp_millis(time)), '{SCHEMA}')").collect()
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(
        kafka.bootstrap, topic, [(log[0], T0_MS, None, bytes(row[0])) for log, row in zip(logs, encoded, strict=True)]
    )
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)
    counted = {
        way: WindowedCount(source.selectExpr(f"{PLACED} AS timestamp")).start(tmp_path / way).finish().counted
        for way, source in (("native", stream), ("aligned", align(stream, Alignment(event_time=PLACED))))
    }
    assert counted["aligned"] == len(logs) > counted["native"]
