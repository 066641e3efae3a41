"""An archive of files and then the live topic, in one query with one state, as the guide's recipe
has it: each window has each of its rows once.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, window

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

pytestmark = pytest.mark.long

CONFS = {
    "spark.sql.streaming.offsetLog.formatVersion": "2",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
}
PLACED = "timestamp_millis(CAST(CAST(value AS STRING) AS BIGINT))"
BOUNDARY = 1_767_272_400_000  # 2026-01-01T13:00:00Z
WINDOW_MS, MINUTE_MS = 300_000, 60_000


def times() -> list[list[int]]:
    """Return each partition's event times: one is ahead, one out of order, one ends early."""
    first = BOUNDARY - 60 * MINUTE_MS
    steady = [first + 2_000 * n for n in range(3_000)]
    shaken = [time + (n % 3) * MINUTE_MS for n, time in enumerate(steady)]
    return [steady, shaken, [time - 360 * MINUTE_MS for time in steady[:1_000]]]


@pytest.fixture
def confs(spark: SparkSession) -> Iterator[None]:
    if not hasattr(spark.readStream, "name"):
        pytest.skip("sources have names from Spark 4.2 on")
    for key, value in CONFS.items():
        spark.conf.set(key, value)
    yield
    for key in CONFS:
        spark.conf.unset(key)


@pytest.fixture
def log(kafka: KafkaBroker, topic: str) -> str:
    topics.create(kafka.bootstrap, topic, len(times()))
    for partition, some in enumerate(times()):
        topics.produce(kafka.bootstrap, topic, [(partition, at, None, str(at).encode()) for at in some])
    return topic


def run(stream: DataFrame, folder: Path) -> int:
    """Count a stream's rows by window, and return how many Spark dropped as late."""
    rows = stream.select(expr(PLACED).alias("placed"))
    counts = rows.withWatermark("placed", "10 minutes").groupBy(window("placed", "5 minutes")).count()
    writer = counts.writeStream.format("parquet").option("path", str(folder / "counts"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(each["stateOperators"][0]["numRowsDroppedByWatermark"] for each in query.recentProgress)


def test_each_window_has_each_row_once_across_the_boundary(
    spark: SparkSession, kafka: KafkaBroker, log: str, confs: None, tmp_path: Path
) -> None:
    of_kafka = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": log}
    topic = spark.read.format("kafka").options(**of_kafka).load()
    hours = sorted({at // (60 * MINUTE_MS) for some in times() for at in some if at < BOUNDARY})
    for hour in hours:
        topic.where(f"unix_millis(timestamp) DIV 3600000 = {hour}").coalesce(1).write.parquet(
            f"{tmp_path}/archive/{hour}"
        )
    files = spark.readStream.name("files").schema(topic.schema).option("maxFilesPerTrigger", 1)
    live = spark.readStream.name("live").format("kafka").options(**of_kafka).option("maxOffsetsPerTrigger", 500)
    live = live.option("startingTimestamp", BOUNDARY).option("startingOffsetsByTimestampStrategy", "latest")
    aligned = align(live.load(), Alignment(event_time=PLACED)).where(f"unix_millis(timestamp) >= {BOUNDARY}")

    assert run(files.parquet(f"{tmp_path}/archive/*"), tmp_path) == 0
    assert run(aligned, tmp_path) == 0

    found = spark.read.parquet(f"{tmp_path}/counts").selectExpr("unix_millis(window.start) AS start", "count").collect()
    truth = Counter(at // WINDOW_MS * WINDOW_MS for some in times() for at in some)
    assert len(found) == len({row.start for row in found}) > 12, "no window is written twice"
    assert max(row.start for row in found) > BOUNDARY
    assert {row.start: row["count"] for row in found} == {row.start: truth[row.start] for row in found}
