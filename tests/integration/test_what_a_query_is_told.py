"""The figures that a running query gets, on a real broker: its own watermarks, late rows, its
progress, the policy for several watermarks.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery, StreamingQueryException

from lockgate import watermark
from lockgate_spark import Alignment, align, align_all
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import EVENT_TIME_SQL, HOUR_MS, T0_MS, SkewedTopic
from support.logged import logged
from support.queries import PATIENCE_S, WindowedCount, kafka_stream
from support.rows import Rows

RECORDS, BUDGET = 8_000, 1_200


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    """The last partition starts 6 h late."""
    spec = SkewedTopic("told", records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@dataclass(frozen=True)
class Finished:
    """A query that has ended, over windows of ten minutes, and what was logged meanwhile."""

    df: DataFrame
    checkpoint: Path
    query: WindowedCount
    logged: list[str]


def finished(df: DataFrame, checkpoint: Path) -> Finished:
    with logged() as lines:
        query = WindowedCount(df, window="10 minutes").start(checkpoint).finish()
    return Finished(df, checkpoint, query, lines)


@pytest.fixture(scope="module")
def stream(spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic) -> DataFrame:
    return kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=BUDGET)


@pytest.fixture(scope="module")
def observed(stream: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Reads as native Spark does."""
    df = align(stream, Alignment(mode="observe", late_rows="count"))
    return finished(df, tmp_path_factory.mktemp("observed"))


@pytest.fixture(scope="module")
def aligned(stream: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished(align(stream, Alignment(late_rows="count")), tmp_path_factory.mktemp("aligned"))


def run(df: DataFrame, checkpoint: Path, batches: list[Any] | None = None, mode: str = "append") -> StreamingQuery:
    """A query that ends by itself; the rows that it gives are added to `batches`."""

    def take(batch: DataFrame, _: int) -> None:
        rows = batch.collect()
        if batches is not None:
            batches.extend(rows)

    writer = df.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint)).outputMode(mode)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return query


# -- the query's own watermark --


@pytest.mark.long
def test_a_renamed_timestamp_is_still_kafka_s_through_aliases_unions_and_joins(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    a, b = align_all(
        [kafka_stream(spark, kafka.bootstrap, skewed.name), kafka_stream(spark, kafka.bootstrap, skewed.name)]
    )
    renamed = (
        a.selectExpr("timestamp AS a_time", "key")
        .withColumn("also", F.col("a_time"))
        .withColumnRenamed("also", "at")
        .drop("a_time")
    )
    both = (
        renamed.select("at", "key")
        .union(b.select("timestamp", "key"))
        .where("at > '1970-01-01'")
        .withWatermark("at", "10 minutes")
    )
    static = spark.range(1).withColumn("one", F.lit(1))
    query = run(both.crossJoin(F.broadcast(static)).groupBy(F.window("at", "1 hour")).count(), tmp_path)
    assert query.exception() is None


def test_a_watermark_on_another_column_fails_the_query_and_says_what_to_do(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def counted(alignment: Alignment) -> DataFrame:
        stream = align(kafka_stream(spark, kafka.bootstrap, skewed.name), alignment)
        own = stream.withColumn("second", F.date_trunc("second", "timestamp")).selectExpr("second AS ts")
        return own.withWatermark("ts", "10 minutes").groupBy(F.window("ts", "1 hour")).count()

    with pytest.raises(StreamingQueryException, match=r'withWatermark\("ts", …\) uses date_trunc'):
        run(counted(Alignment()), tmp_path / "refused")
    run(counted(Alignment(other_event_time="warn")), tmp_path / "warned")
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any("lockgate aligns by Kafka's record timestamp" in text for text in warned)


@pytest.mark.long
def test_without_a_drift_of_its_own_a_query_keeps_within_its_delay(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    df = align(kafka_stream(spark, kafka.bootstrap, skewed.name))
    query = WindowedCount(df, delay="30 seconds").start(tmp_path).finish()
    assert query.counted == RECORDS
    assert not [record for record in caplog.records if "delay" in record.getMessage()]


# -- late rows --


def progress_of(query: WindowedCount | StreamingQuery) -> list[Any]:
    run = query.query if isinstance(query, WindowedCount) else query
    assert run is not None
    return list(run.recentProgress)


def behind(
    query: WindowedCount | StreamingQuery,
    topic: SkewedTopic,
    earlier_ms: int = 0,
    index: int = 0,
    window_ms: int = 0,
) -> list[Counter[str]]:
    """By batch, the rows whose window ends at or below the watermark of the batch before, counted
    from Spark's offsets and the topic's own formula. `earlier_ms`: by how much the query's event
    times are earlier than the topic's. `index`: of the source. Without `window_ms`, each instant
    is a window.
    """

    def closes(time: int) -> int:
        return (time // window_ms + 1) * window_ms if window_ms else time

    found, below = [], 0
    for progress in progress_of(query):
        source = progress["sources"][index]
        start, end = (
            (json.loads(source[name] or "null") or {}).get(topic.name, {}) for name in ("startOffset", "endOffset")
        )
        late: Counter[str] = Counter()
        for partition, until in end.items():
            times = (topic.event_time(int(partition), offset) for offset in range(start.get(partition, 0), until))
            late[f"{topic.name}-{partition}"] = sum(closes(time - earlier_ms) <= below for time in times)
        found.append(+late)
        below = watermark_of(progress)
    return found


def watermark_of(progress: Mapping[str, Any]) -> int:
    """The watermark of a batch, in ms."""
    return round(datetime.fromisoformat(progress["eventTime"]["watermark"].replace("Z", "+00:00")).timestamp() * 1000)


def told_late(query: WindowedCount | StreamingQuery, index: int = 0) -> list[Counter[str]]:
    return [Counter(json.loads(p["sources"][index]["metrics"]["lateRowsByPartition"])) for p in progress_of(query)]


def test_late_rows_are_counted_by_partition_where_spark_reports_next_to_none(
    skewed: SkewedTopic, observed: Finished, aligned: Finished
) -> None:
    expected = behind(observed.query, skewed, window_ms=HOUR_MS // 6)
    assert [+late for late in told_late(observed.query)] == expected
    late = sum(map(Counter.total, expected))
    lost = RECORDS - observed.query.counted
    assert 0 < lost == late
    operators = [operator for progress in progress_of(observed.query) for operator in progress["stateOperators"]]
    assert sum(operator["numRowsDroppedByWatermark"] for operator in operators) < late
    assert any(f"{lost:,} of {RECORDS:,} rows" in line for line in observed.logged)
    assert sum(map(Counter.total, told_late(aligned.query))) == 0
    assert sum(map(Counter.total, behind(aligned.query, skewed))) == 0
    assert aligned.query.counted == RECORDS


@pytest.mark.long
def test_a_row_at_the_very_watermark_is_late_for_spark_and_counted_and_one_above_is_neither(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    observed = align(kafka_stream(spark, kafka.bootstrap, topic), Alignment(mode="observe", late_rows="count"))
    distinct = observed.withWatermark("timestamp", "10 minutes").dropDuplicates(["partition", "offset", "timestamp"])
    kept = []
    for appended in ([(0, T0_MS + 600_000)], [(1, T0_MS - 1), (1, T0_MS), (1, T0_MS + 1)]):
        topics.produce(kafka.bootstrap, topic, [(partition, at, None, b"x") for partition, at in appended])
        run = Rows(distinct).start(tmp_path).finish()
        kept += run.all
    assert kept == [(topic, 0, 0), (topic, 1, 2)]
    assert run.query is not None
    assert sum(told_late(run.query), Counter()) == {f"{topic}-1": 2}


@pytest.mark.long
def test_late_rows_of_several_sources_are_counted_source_by_source(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, topic: str, tmp_path: Path
) -> None:
    other = SkewedTopic(topic, weights=(1, 2, 1), records=4_000, late_start_hours=12)
    topics.load(kafka.bootstrap, other)
    streams = [kafka_stream(spark, kafka.bootstrap, of.name, maxOffsetsPerTrigger=BUDGET) for of in (skewed, other)]
    one, two = align_all(streams, Alignment(mode="observe", late_rows="count"))
    native = WindowedCount(one.union(two)).start(tmp_path).finish(timeout_s=300)
    for index, of in enumerate((skewed, other)):
        told = [+late for late in told_late(native, index)]
        assert told == behind(native, of, index=index, window_ms=HOUR_MS)
        assert sum(map(Counter.total, told)) > 0


def united(df: DataFrame) -> DataFrame:
    return df.union(df).withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", "1 hour")).count()


def joined(df: DataFrame) -> DataFrame:
    one, other = (df.withWatermark("timestamp", "10 minutes").alias(name) for name in ("one", "other"))
    return one.join(
        other,
        F.expr("one.partition = other.partition AND one.offset = other.offset AND one.timestamp = other.timestamp"),
    )


@pytest.mark.long
@pytest.mark.parametrize(("shape", "sources", "window_ms"), [(united, 1, HOUR_MS), (joined, 2, 0)])
def test_late_record_of_a_topic_that_is_read_twice_is_counted_once_a_source(
    spark: SparkSession,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
    shape: Callable[[DataFrame], DataFrame],
    sources: int,
    window_ms: int,
) -> None:
    stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=BUDGET)
    native = run(shape(align(stream, Alignment(mode="observe", late_rows="count"))), tmp_path)
    assert {len(progress["sources"]) for progress in native.recentProgress} == {sources}
    for index in range(sources):
        told = [+late for late in told_late(native, index)]
        assert told == behind(native, skewed, index=index, window_ms=window_ms)
        assert sum(map(Counter.total, told)) > 0


@pytest.mark.long
def test_late_rows_are_counted_by_the_event_time_in_the_payload(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    an_hour_before = f"{EVENT_TIME_SQL} - {HOUR_MS}"
    stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=BUDGET)
    observed = align(stream, Alignment(mode="observe", late_rows="count", event_time=an_hour_before))
    df = observed.selectExpr(f"timestamp_millis({an_hour_before}) AS timestamp")
    native = WindowedCount(df).start(tmp_path).finish()
    told = told_late(native)
    assert [+late for late in told] == behind(native, skewed, HOUR_MS, window_ms=HOUR_MS)
    assert sum(map(Counter.total, told)) > 0


def test_a_replayed_batch_is_counted_with_the_watermark_of_the_one_before(observed: Finished, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(observed.checkpoint, tmp_path / "checkpoint")
    told = told_late(observed.query)
    batch = max(range(len(told)), key=lambda n: told[n].total())
    for log in ("offsets", "commits"):
        for file in (checkpoint / log).iterdir():
            number = int(file.name.lstrip(".").split(".")[0])
            if number > batch or (number == batch and log == "commits"):
                file.unlink()
    again = WindowedCount(observed.df, window="10 minutes").start(checkpoint).finish()
    assert told_late(again)[0] == told[batch]
    assert told[batch].total() > 0


# -- the rows that alignment saves --


def test_rows_saved_are_within_ten_percent_of_those_behind_native_watermarks(
    skewed: SkewedTopic, observed: Finished, aligned: Finished
) -> None:
    late = sum(batch.total() for batch in behind(observed.query, skewed))
    assert late > 300
    saved = [int(each["sources"][0]["metrics"]["alignmentRowsSavedEstimate"]) for each in progress_of(aligned.query)]
    assert saved[-1] == pytest.approx(late, rel=0.1)
    assert saved == sorted(saved) == [plan.rows_saved for plan in aligned.query.plans]
    assert any(
        f"estimate: without lockgate, {saved[-1]} more rows would have been late" in line for line in aligned.logged
    )


# -- what lastProgress says --


def test_last_progress_and_the_log_show_the_alignment(aligned: Finished) -> None:
    for plan, progress in zip(aligned.query.plans, progress_of(aligned.query), strict=True):
        metrics = progress["sources"][0]["metrics"]
        assert metrics["alignmentTarget"] == watermark.iso(plan.target)
        assert metrics["alignmentLimitedBy"] == plan.limited_by.value
        assert int(metrics["alignmentSpreadMs"]) == plan.spread
        assert int(metrics["alignmentLookUps"]) == plan.look_ups
        assert "maxOffsetsBehindLatest" in metrics, "Spark's own stay"
    lines = [line for line in aligned.logged if line.startswith("aligned to")]
    assert "limited by budget; 0 of 8 partitions paused" in lines[0]


def test_how_far_records_are_out_of_order_is_measured_told_and_allowed_for(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    times = [T0_MS + n * HOUR_MS // 100 for n in range(2_000)]
    late = [at - (HOUR_MS // 20 if n % 5 == 0 else 0) for n, at in enumerate(times)]
    topics.produce(kafka.bootstrap, topic, [(p, at, None, b"x") for p, log in enumerate((times, late)) for at in log])
    stream = align(
        kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET), Alignment(max_drift="10 minutes")
    )
    query = WindowedCount(stream).start(tmp_path).finish()
    assert query.counted == 4_000
    told = [(plan.out_of_orderness, *(split.out_of_orderness for split in plan.partitions)) for plan in query.plans]
    # A record is 36 s after the one before it, and every fifth is 3 minutes late.
    assert told[0] == (144_000, 0, 144_000), "seen before the first batch is read"
    assert set(told) == {told[0]}
    assert query.query is not None
    assert query.query.recentProgress[-1]["sources"][0]["metrics"]["alignmentOutOfOrdernessMs"] == "144000"


# -- several watermarks --


@pytest.mark.long
@pytest.mark.parametrize("policy", ["min", "max"])
def test_an_idle_side_stalls_a_join_but_not_under_the_policy_max_where_only_native_spark_loses_rows(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, policy: str
) -> None:
    left = SkewedTopic(f"{topic}-left", weights=(1, 9), records=2_000, span_hours=12, late_start_hours=6)
    topics.load(kafka.bootstrap, left)
    topics.create(kafka.bootstrap, f"{topic}-right", 1)
    topics.produce(kafka.bootstrap, f"{topic}-right", [(0, T0_MS, None, b"the only one")])
    native = [
        kafka_stream(spark, kafka.bootstrap, f"{topic}-{side}", maxOffsetsPerTrigger=250) for side in ("left", "right")
    ]
    spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", policy)
    try:
        rows: list[Any] = []
        query = run(outer_joined(*align_all(native)), tmp_path / "aligned", rows)
        natively: list[Any] = []
        unaligned = run(outer_joined(*native), tmp_path / "native", natively)
    finally:
        spark.conf.unset("spark.sql.streaming.multipleWatermarkPolicy")
    kept = [lefts(query, rows, policy), lefts(unaligned, natively, policy)]
    if policy == "min":
        assert kept == [2_000, 2_000]
        assert rows == [], "whether a pair may come is open for ever"
        assert watermark_of(query.recentProgress[-1]) == T0_MS - 600_000
    else:
        assert kept[0] == 2_000 > kept[1]
        assert len(rows) > 1_500
        assert watermark_of(query.recentProgress[-1]) > T0_MS + 11 * HOUR_MS


def outer_joined(left: DataFrame, right: DataFrame) -> DataFrame:
    one = left.selectExpr("value AS a", "timestamp AS a_time").withWatermark("a_time", "10 minutes")
    other = right.selectExpr("value AS b", "timestamp AS b_time").withWatermark("b_time", "10 minutes")
    return one.join(
        other, F.expr("a = b AND b_time BETWEEN a_time - INTERVAL 1 HOUR AND a_time + INTERVAL 1 HOUR"), "leftOuter"
    )


def lefts(query: StreamingQuery, rows: list[Any], policy: str) -> int:
    """How many of the left side came out, or wait in the state; under the policy min the right
    side's one waits there too.
    """
    waiting = query.recentProgress[-1]["stateOperators"][0]["numRowsTotal"]
    return len({bytes(row["a"]) for row in rows}) + int(waiting) - (policy == "min")
