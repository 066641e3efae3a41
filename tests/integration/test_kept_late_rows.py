"""Late rows as data: the table has what Spark has dropped, row by row, and Kafka the records."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align, align_all, late_rows, replay
from lockgate_spark.jvm.kept import KeptRows
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import EVENT_TIME_SQL, SkewedTopic
from support.keeping import (
    BUDGET,
    KEYS,
    RECORDS,
    Kept,
    Record,
    collected,
    dropped,
    lost_of,
    out_of_order,
    records,
)  # fmt: skip
from support.logged import logged
from support.queries import kafka_stream


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    """The last partition starts 6 h late."""
    spec = SkewedTopic("kept-late-rows", records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def kept(spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path) -> Kept:
    return Kept(spark, kafka, skewed, tmp_path)


class Windows:
    """The records that windows of a query hold; what is held by no window was dropped."""

    def __init__(self, df: DataFrame, window: Any) -> None:
        self.counts = df.groupBy(window, "partition").agg(F.collect_list("offset").alias("offsets"))
        self.last: dict[tuple[Any, int], list[int]] = {}

    def take(self, batch: DataFrame, _: int) -> None:
        for row in batch.collect():
            self.last[row[0]["start"], row["partition"]] = row["offsets"]

    def held(self) -> Counter[Record]:
        return Counter((partition, offset) for (_, partition), each in self.last.items() for offset in each)


def test_rows_that_windows_drop_are_in_the_table_and_their_records_in_kafka(kept: Kept) -> None:
    windows = Windows(kept.observed(minPartitions=12), F.window("timestamp", "1 hour"))
    with logged() as lines:
        query = kept.run(windows.counts, windows.take, "update")
    lost = kept.all() - set(windows.held())
    late = late_rows(query)
    assert records(late) == Counter(lost)
    assert len(lost) > 100
    for row in late.collect():
        assert row["event_time"].timestamp() * 1000 == kept.topic.event_time(row["partition"], row["offset"])
        assert row["event_time"] < row["watermark"]
        assert (row["query"], row["operator"], row["topic"]) == (query.id, "stateStoreSave", kept.topic.name)
    path = str(kept.folder / "checkpoint/lockgate/late_rows")
    assert late_rows(path).count() == len(lost)
    found = json.loads((kept.folder / "lockgate-observed.json").read_text(encoding="utf-8"))
    assert found["rows"]["kept_in"].endswith(path)
    assert found["rows"]["lost"]["most"] == len(lost)
    assert path in (kept.folder / "lockgate-observed.html").read_text(encoding="utf-8")
    assert any(f"this run wrote {len(lost)} late rows to" in line for line in lines)
    again = replay(late.where("partition > 4"), {"kafka.bootstrap.servers": kept.kafka.bootstrap})
    times = {(r["partition"], r["offset"]): r["timestamp"].timestamp() * 1000 for r in again.collect()}
    assert times == {record: kept.topic.event_time(*record) for record in lost if record[0] > 4}


def test_aligned_query_without_late_rows_writes_nothing(kept: Kept) -> None:
    df = align(kept.stream(maxOffsetsPerTrigger=3_000), Alignment(late_rows="keep"))
    df = df.withWatermark("timestamp", "10 minutes")
    query = kept.run(df.groupBy(F.window("timestamp", "1 hour")).count())
    assert late_rows(query).count() == 0
    assert replay(late_rows(query), {"kafka.bootstrap.servers": kept.kafka.bootstrap}).count() == 0
    assert list((kept.folder / "checkpoint/lockgate/late_rows").iterdir()) == []


def by_limit(df: DataFrame) -> DataFrame:
    return df.limit(100).dropDuplicates(KEYS)


def by_chance(df: DataFrame) -> DataFrame:
    return df.where(F.rand() < 0.5).dropDuplicates(KEYS)


def by_now(df: DataFrame) -> DataFrame:
    return df.where("timestamp < current_timestamp()").dropDuplicates(KEYS)


def by_custom_state(df: DataFrame) -> DataFrame:
    same: Any = lambda key, frames, state: frames  # noqa: E731
    return df.groupBy("partition").applyInPandasWithState(same, "n INT", "n INT", "append", "EventTimeTimeout")


def by_another_source(df: DataFrame) -> DataFrame:
    other = df.sparkSession.readStream.format("rate").load().withWatermark("timestamp", "10 minutes")
    return df.select("timestamp").union(other.select("timestamp")).dropDuplicates(["timestamp"])


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        pytest.param(by_limit, "rows pass through", marks=pytest.mark.long),
        (by_chance, "not deterministic"),
        pytest.param(by_now, "uses the current time", marks=pytest.mark.long),
        pytest.param(by_custom_state, "custom state", marks=pytest.mark.long),
        pytest.param(by_another_source, "a source is not aligned", marks=pytest.mark.long),
    ],
)
def test_query_whose_rows_cannot_be_followed_is_refused(
    kept: Kept, shape: Callable[[DataFrame], DataFrame], words: str
) -> None:
    with pytest.raises(StreamingQueryException, match=f'late_rows="keep": .*{words}'):
        kept.run(shape(kept.observed()))


@pytest.mark.long
@pytest.mark.parametrize("actions", [1, 2])
def test_rows_that_deduplication_drops_are_in_the_table(kept: Kept, actions: int) -> None:
    output: set[Record] = set()
    named = F.udf(lambda partition: f"p{partition}", "string")
    df = kept.observed(minPartitions=20).where("offset % 3 > 0").withColumn("name", named("partition"))
    df = df.repartition(3).where("name != 'p6'").dropDuplicates(KEYS)
    query = kept.run(df, collected(output, actions))
    lost = {(p, o) for p, o in kept.all() if o % 3 and p != 6} - output
    assert dropped(query) == actions * len(lost) > 0
    assert records(kept.table) == Counter(lost)


@pytest.mark.long
def test_deduplication_without_its_event_time_drops_and_keeps_nothing(kept: Kept) -> None:
    output: set[Record] = set()
    query = kept.run(
        kept.observed().dropDuplicates(["partition", "offset"]).select("partition", "offset"), collected(output)
    )
    assert (output, dropped(query), late_rows(query).count()) == (kept.all(), 0, 0)


@pytest.mark.long
def test_record_that_both_sides_of_a_self_join_drop_is_kept_once(kept: Kept) -> None:
    df = kept.observed(minPartitions=20)
    one, other = (df.alias(name) for name in ("one", "other"))
    same = " AND ".join(f"one.{key} = other.{key}" for key in KEYS)
    query = kept.run(one.join(other, F.expr(same)))
    behind = kept.behind(query)
    assert records(kept.table) == behind
    assert dropped(query) == 2 * len(behind) > 0


@pytest.mark.long
def test_join_of_two_topics_keeps_the_late_rows_of_each(kept: Kept, topic: str) -> None:
    other = SkewedTopic(topic, records=RECORDS, late_start_hours=6)
    topics.load(kept.kafka.bootstrap, other)
    second = kafka_stream(kept.spark, kept.kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)
    one, two = align_all([kept.stream(), second], Alignment(mode="observe", late_rows="keep"))
    two = two.withWatermark("timestamp", "20 minutes").withColumnRenamed("timestamp", "then")
    joined = one.withWatermark("timestamp", "10 minutes").alias("one").join(
        two.alias("two"),
        F.expr("one.partition = two.partition AND then BETWEEN timestamp AND timestamp + INTERVAL 1 HOUR"),
        "leftOuter",
    )  # fmt: skip
    query = kept.run(joined.select("one.partition", "then"))
    found = Counter(row["topic"] for row in kept.table.select("topic").collect())
    assert sum(found.values()) == dropped(query)
    assert min(found[kept.topic.name], found[topic]) > 0
    mine = records(kept.table.where(F.col("topic") == kept.topic.name))
    assert mine == kept.behind(query)


@pytest.mark.long
def test_row_that_one_of_its_sliding_windows_has_lost_is_kept_once(kept: Kept) -> None:
    windows = Windows(kept.observed(), F.window("timestamp", "1 hour", "30 minutes"))
    kept.run(windows.counts, windows.take, "update")
    held = windows.held()
    assert records(kept.table) == Counter({record: 1 for record in kept.all() if held[record] < 2})


@pytest.mark.long
def test_sessions_keep_the_rows_whose_own_session_is_behind(kept: Kept) -> None:
    counts = kept.observed().groupBy(F.session_window("timestamp", "20 minutes"), "partition").count()
    query = kept.run(counts)
    behind = kept.behind(query, 20 * 60_000)
    assert records(kept.table) == behind
    assert dropped(query) > 0


@pytest.mark.long
def test_rows_are_followed_through_unions_explosions_and_joins_with_tables(kept: Kept) -> None:
    names = kept.spark.createDataFrame([(n, f"p{n}") for n in range(6)], "partition INT, name STRING")
    stream = align(kept.stream(), Alignment(event_time=EVENT_TIME_SQL, mode="observe", late_rows="keep"))
    df = stream.selectExpr("partition", "offset", f"timestamp_millis({EVENT_TIME_SQL}) AS placed")
    df = df.withWatermark("placed", "10 minutes")
    halves = df.where("offset % 2 = 0").union(df.where("offset % 2 = 1"))
    many = halves.join(names, "partition").withColumn("copy", F.explode(F.array(F.lit(1), F.lit(2))))
    windows = Windows(many, F.window("placed", "10 minutes"))
    kept.run(windows.counts, windows.take, "update")
    lost = {record for record in kept.all() if record[0] < 6} - set(windows.held())
    assert records(kept.table) == Counter(lost)
    assert lost


@pytest.mark.long
def test_aligned_query_keeps_what_is_too_far_out_of_order(kept: Kept, topic: str) -> None:
    output: set[Record] = set()
    query = kept.run(out_of_order(kept, topic), collected(output))
    assert records(late_rows(query)) == lost_of(output)


@pytest.mark.long
def test_batch_that_failed_to_be_written_is_written_by_the_next_run(
    kept: Kept, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output: set[Record] = set()
    df = out_of_order(kept, topic)
    with monkeypatch.context() as patched:

        def full(self: KeptRows, batch: int) -> None:
            raise OSError("No space left on device")

        patched.setattr(KeptRows, "_write", full)
        with pytest.raises(StreamingQueryException, match="No space left on device"):
            kept.run(df, collected(output))
    query = kept.run(df, collected(output))
    assert records(late_rows(query)) == lost_of(output)
    assert len({row["batch_id"] for row in late_rows(query).collect()}) > 1


@pytest.mark.long
def test_checkpoint_that_was_set_back_gives_each_row_once(kept: Kept) -> None:
    output: set[Record] = set()
    df = kept.observed().dropDuplicates(KEYS)
    before = records(late_rows(kept.run(df, collected(output))))
    for file in (kept.folder / "checkpoint").glob("[co]*s/*"):
        number = file.name.strip(".cr")
        if number.isdecimal() and int(number) >= 2:
            file.unlink()
    assert records(late_rows(kept.run(df, collected(output)))) == before == Counter(kept.all() - output)
