"""Records stamped 2099 on a real broker: they move Spark's own watermark, but neither drag nor stop
the alignment.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import T0_MS
from support.queries import WindowedCount, kafka_stream

MINUTE = 60_000
FAR = 4_070_908_800_000  # 2099
TEN_MINUTES = Alignment(max_drift="10 minutes")


def now_ms() -> int:
    return int(time.time() * 1000)


def append(kafka: KafkaBroker, topic: str, partition: int, times: Sequence[int]) -> None:
    topics.produce(kafka.bootstrap, topic, [(partition, event_time, None, b"x") for event_time in times])


def credible(df: DataFrame) -> DataFrame:
    """As the guide says it."""
    return df.where("timestamp < current_timestamp() + INTERVAL 1 DAY")


def watermark(query: WindowedCount) -> str:
    assert query.query is not None
    return max(progress["eventTime"].get("watermark", "") for progress in query.query.recentProgress)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage() for record in caplog.records if record.name == "lockgate" and record.levelname == "WARNING"
    ]


@pytest.fixture
def poisoned(kafka: KafkaBroker, topic: str) -> int:
    """Two partitions of an old topic, apart by their density, one with records from 2099 among its
    own; how many credible ones.
    """
    topics.create(kafka.bootstrap, topic, 2)
    sparse = [T0_MS + n * MINUTE for n in range(600)]
    for place in (200, 201, 400):
        sparse.insert(place, FAR)
    append(kafka, topic, 0, sparse)
    append(kafka, topic, 1, [T0_MS + n * MINUTE // 9 for n in range(5_400)])
    return 6_000


@pytest.mark.long
def test_spark_s_own_watermark_jumps_to_2099_and_a_filter_before_it_saves_it(
    spark: SparkSession, kafka: KafkaBroker, topic: str, poisoned: int, tmp_path: Path
) -> None:
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000)
    native = WindowedCount(stream).start(tmp_path / "native").finish()
    filtered = WindowedCount(credible(stream)).start(tmp_path / "filtered").finish()
    assert watermark(native).startswith("2098-12-31")
    assert watermark(filtered) < "2027"
    assert native.counted < poisoned


def test_an_old_topic_with_records_from_2099_is_read_level_and_nothing_else_is_lost(
    spark: SparkSession, kafka: KafkaBroker, topic: str, poisoned: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000)
    query = WindowedCount(credible(align(stream, TEN_MINUTES))).start(tmp_path).finish()
    assert query.counted == poisoned
    busy = [plan for plan in query.plans if any(split.end > split.position for split in plan.partitions)]
    assert 6 <= len(busy) <= 9, "full batches all the same"
    assert all(plan.target < T0_MS + 600 * MINUTE for plan in busy[:-1])
    assert max(split.watermark for plan in busy for split in plan.partitions) < FAR
    assert sum(split.left_out for plan in busy for split in plan.partitions if split.partition == f"{topic}-0") in (
        2,
        3,
    )
    assert [text for text in warnings(caplog) if "left out" in text] == [
        f"topic {topic}, partition 0: the record at offset 200 is stamped 2099-01-01T00:00:00.000Z, more than "
        "future_bound (1 d) ahead of the clock. It and others like it are left out of the alignment, but still "
        "move Spark's own watermark. Filter them before withWatermark"
    ]


@pytest.mark.long
def test_a_live_split_goes_on_behind_a_record_from_2099_and_holds_nobody_by_it(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    append(kafka, topic, 0, [now_ms() - MINUTE, FAR, now_ms() - MINUTE])
    append(kafka, topic, 1, [now_ms() - MINUTE] * 3)
    query = WindowedCount(credible(align(kafka_stream(spark, kafka.bootstrap, topic)))).start(
        tmp_path, available_now=False
    )
    try:
        query.wait_until(lambda query: query.counted == 5)
        for n in range(1, 4):  # the record is read, and hides what follows it from Kafka's look-ups
            append(kafka, topic, 0, [now_ms(), FAR])
            append(kafka, topic, 1, [now_ms()])
            query.wait_until(lambda query, n=n: query.counted == 5 + 2 * n, timeout_s=40)  # type: ignore[misc]
    finally:
        query.stop()
    assert query.plans[-1].paused == ()
    assert max(plan.target for plan in query.plans) < now_ms() + 24 * 60 * MINUTE


@pytest.mark.long
def test_where_all_is_stamped_in_the_future_everything_is_read_on_unaligned_with_a_warning_for_each_split(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    for partition in (0, 1):
        append(kafka, topic, partition, [FAR + n * MINUTE for n in range(500 * (1 + partition))])
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=600)
    query = WindowedCount(align(stream)).start(tmp_path / "bound").finish()
    sizes = [sum(split.end - split.position for split in plan.partitions) for plan in query.plans]
    assert [size for size in sizes if size] == [600, 600, 300]
    assert sum("left out" in text for text in warnings(caplog)) == 2


@pytest.mark.long
def test_without_a_bound_a_split_stops_at_a_record_from_2099_and_the_run_says_what_is_left(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    append(kafka, topic, 0, [now_ms() - MINUTE, FAR])
    append(kafka, topic, 1, [now_ms() - MINUTE] * 3)
    stream = align(kafka_stream(spark, kafka.bootstrap, topic), Alignment(future_bound=None))
    query = WindowedCount(stream).start(tmp_path).finish()
    assert query.counted == 4
    assert "left for the next run" in caplog.text


@pytest.mark.long
def test_a_past_bound_leaves_out_what_is_older_so_that_the_group_is_not_told_of_1970(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [1, 1, now_ms() - MINUTE])
    stream = align(kafka_stream(spark, kafka.bootstrap, topic), Alignment(past_bound="365 days"))
    query = WindowedCount(stream).start(tmp_path).finish()
    assert query.counted == 3
    first = query.plans[0].partitions[0]
    assert (first.end, first.left_out) == (3, 2)
    assert first.watermark > now_ms() - 60 * MINUTE
    assert [text.split(". ")[0] for text in warnings(caplog) if "left out" in text] == [
        f"topic {topic}, partition 0: the record at offset 0 is stamped 1970-01-01T00:00:00.001Z, more than "
        "past_bound (365 d) behind"
        " the clock"
    ]


@pytest.mark.long
def test_a_producer_of_1970_holds_nobody_and_broken_memory_is_forgotten(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Partition 1 has seconds for milliseconds. What the first run has kept is broken then."""
    topics.create(kafka.bootstrap, topic, 2)
    for run in (1, 2):
        query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path, available_now=False)
        try:
            for n in range(4 * run - 3, 4 * run + 1):
                append(kafka, topic, 0, [now_ms()])
                append(kafka, topic, 1, [now_ms() // 1000])
                ends = {f"{topic}-0": n, f"{topic}-1": n}
                query.wait_until(lambda query, ends=ends: read_upto(query) == ends, timeout_s=60)  # type: ignore[misc]
        finally:
            query.stop()
        assert [split.partition for split in query.plans[-1].partitions if split.far_behind] == [f"{topic}-1"]
        kept = sorted((tmp_path / "lockgate").glob("lags-*"))
        assert all(json.loads(file.read_text())["format"] == 1 for file in kept)
        for file in kept if run == 1 else ():
            file.write_text('{"number": 3, "splits": {"0": {"a-1": [1, 2]}}}')
    assert sum("ignoring an unreadable file" in text for text in warnings(caplog)) == 1
    named = [text for text in warnings(caplog) if "no longer wait for it" in text]
    assert [text.partition(":")[0] for text in named] == [f"topic {topic}, partition 1"] * 2
    assert "look like seconds" in named[0]


def read_upto(query: WindowedCount) -> dict[str, int]:
    return {split.partition: split.end for split in query.plans[-1].partitions} if query.plans else {}
