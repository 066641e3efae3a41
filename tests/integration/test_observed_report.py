"""The report of mode observe, on a real broker, against what Spark itself has lost."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from typer.testing import CliRunner

from lockgate_cli.__main__ import cli
from lockgate_spark import Alignment, align, align_all
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.answers import wait_for
from support.code_of_pages import blocks, setup_of
from support.imports import CHECKOUT
from support.logged import logged
from support.queries import PATIENCE_S, WindowedCount, kafka_stream
from support.rows import Rows

RECORDS, BUDGET = 8_000, 1_200
GUIDE = CHECKOUT / "docs/guide/measure.md"


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    """The last partition starts 6 h late."""
    spec = SkewedTopic("observed-report", records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


def observed(spark: SparkSession, kafka: KafkaBroker, topic: SkewedTopic, folder: Path, **options: Any) -> DataFrame:
    stream = kafka_stream(spark, kafka.bootstrap, topic.name, maxOffsetsPerTrigger=BUDGET, **options)
    return align(stream, Alignment(mode="observe", report=str(folder)))


def report(folder: Path, name: str = "lockgate-observed") -> dict[str, Any]:
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert (found["schema"], found["version"]) == ("lockgate-observed", 1)
    assert found["state"] == "ended"
    return dict(found)


@dataclass(frozen=True)
class Observed:
    """A query over windows that has ended, and the folder of its report."""

    query: WindowedCount
    folder: Path
    logged: list[str]


def counted(df: DataFrame, folder: Path, window: str) -> Observed:
    """`df` reports into `folder`."""
    with logged() as lines:
        query = WindowedCount(df, window=window).start(folder / "checkpoint").finish()
    return Observed(query, folder, lines)


@pytest.fixture(scope="module")
def ten_minutes(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path_factory: pytest.TempPathFactory
) -> Observed:
    """The run that several tests look at. A partition is read by several tasks."""
    folder = tmp_path_factory.mktemp("observed")
    return counted(observed(spark, kafka, skewed, folder, minPartitions=20), folder, "10 minutes")


def dropped(query: StreamingQuery | None) -> int:
    """Spark's own count."""
    assert query is not None
    return sum(op["numRowsDroppedByWatermark"] for p in query.recentProgress for op in p["stateOperators"])


def run(df: DataFrame, checkpoint: Path, name: str = "") -> StreamingQuery:
    writer = df.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).outputMode("append")
    query = (writer.queryName(name) if name else writer).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return query


@pytest.mark.long
def test_the_rows_lost_by_instants_are_all_that_are_late(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report").withWatermark("timestamp", "10 minutes")
    counts = df.groupBy("timestamp", "partition").count().where("count > 0")
    kept: Counter[Any] = Counter()

    def take(batch: DataFrame, _: int) -> None:
        kept.update({row: row["count"] for row in batch.collect()})

    writer = counts.writeStream.foreachBatch(take).outputMode("append")
    query = writer.option("checkpointLocation", str(tmp_path / "native")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    found = report(tmp_path / "report")
    lost = found["rows"]["lost"]
    assert (lost["basis"], lost["exact"]) == ("rows", True)
    waiting = query.recentProgress[-1]["stateOperators"][0]["numRowsTotal"]
    assert kept.total() + waiting == RECORDS - lost["most"] < RECORDS


def test_rows_lost_to_windows_are_exactly_those_that_none_has_counted(ten_minutes: Observed) -> None:
    check_exact(ten_minutes, "10 minutes")


@pytest.mark.long
@pytest.mark.parametrize(("window", "options"), [("10 minutes", {"maxRecordsPerPartition": 100}), ("1 hour", {})])
def test_rows_lost_to_windows_are_exact_in_other_shapes(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path, window: str, options: dict[str, int]
) -> None:
    check_exact(counted(observed(spark, kafka, skewed, tmp_path, **options), tmp_path, window), window)


def check_exact(ended: Observed, window: str) -> None:
    truth = RECORDS - ended.query.counted
    found = report(ended.folder)
    by_spark = dropped(ended.query.query)
    assert 0 < by_spark < truth
    assert found["rows"]["lost"] == {"least": truth, "most": truth, "exact": True, "basis": "rows"}
    assert found["rows"]["read"] == RECORDS
    assert sum(found["rows"]["dropped_by_operator"].values()) == by_spark
    assert sum(split["lost"] for split in found["partitions"]) == sum(m["lost"] for m in found["timeline"]) == truth
    assert any(f"{truth:,} of {RECORDS:,} rows" in line for line in ended.logged)
    # The simulation knows of the run what the report tells, and comes to the same loss.
    simulated = ["simulate", str(ended.folder / "lockgate-observed.json"), "--observed", "--window", window]
    told = json.loads(CliRunner().invoke(cli, [*simulated, "--output", "json"]).stdout)
    assert told["plain_spark"]["rows"] == RECORDS
    assert told["plain_spark"]["lost"] == pytest.approx(truth, rel=0.1)
    assert [outcome["lost"] for outcome in told["aligned"] if outcome["max_drift_ms"] <= 600_000] == [0] * 6


@pytest.mark.long
def test_an_aligned_run_keeps_what_the_report_says_it_would(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, ten_minutes: Observed, tmp_path: Path
) -> None:
    found = report(ten_minutes.folder)
    lost = found["rows"]["lost"]["most"]
    assert found["kept_by_alignment"] == {"least": lost, "most": lost, "why": ""}
    said = {each["option"]: each["value"] for each in found["advice"]}
    stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=int(said["maxOffsetsPerTrigger"]))
    aligned = align(stream, Alignment(max_drift=said["max_drift"]))
    assert WindowedCount(aligned).start(tmp_path / "aligned").finish().counted == RECORDS
    native = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=BUDGET)
    assert WindowedCount(native, delay=said["withWatermark"]).start(tmp_path / "long").finish().counted == RECORDS


def test_rows_that_a_row_by_row_operator_drops_are_spark_s_own_count(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report").where("partition != 6")
    distinct = df.withWatermark("timestamp", "10 minutes").dropDuplicates(["partition", "offset", "timestamp"])
    native = Rows(distinct).start(tmp_path / "native").finish()
    read = RECORDS - skewed.counts()[6]
    found = report(tmp_path / "report")
    truth = read - len(native.all)
    assert truth == dropped(native.query) > 0
    assert found["rows"]["lost"] == {"least": truth, "most": truth, "exact": True, "basis": "rows"}


def counted_first(counts: Counter[str]) -> Callable[[DataFrame, int], None]:
    """A foreachBatch function with two actions, as many are."""

    def work(batch: DataFrame, _: int) -> None:
        counts["kept"] += batch.count()
        batch.write.format("noop").mode("append").save()

    return work


@pytest.mark.long
@pytest.mark.parametrize("condition", ["", "partition != 6"])
def test_several_actions_of_a_batch_double_no_lost_rows(
    spark: SparkSession,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
    condition: str,
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report").withWatermark("timestamp", "10 minutes")
    df = df.where(condition) if condition else df
    counts: Counter[str] = Counter()
    writer = df.dropDuplicates(["partition", "offset", "timestamp"]).writeStream.foreachBatch(counted_first(counts))
    query = writer.option("checkpointLocation", str(tmp_path / "native")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    truth = RECORDS - (skewed.counts()[6] if condition else 0) - counts["kept"]
    rows = report(tmp_path / "report")["rows"]
    assert dropped(query) == 2 * truth > 0, "Spark counts each action"
    assert rows["lost"] == {"least": truth, "most": truth, "exact": True, "basis": "rows"}


def windows(df: DataFrame, *window: str) -> DataFrame:
    counts = df.withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", *window))
    return counts.agg(F.collect_set(F.struct("partition", "offset")).alias("records"))


def filtered(df: DataFrame) -> DataFrame:
    return windows(df.where("offset % 2 = 0"), "1 hour")


def sliding(df: DataFrame) -> DataFrame:
    return windows(df, "1 hour", "30 minutes")


@pytest.mark.long
@pytest.mark.parametrize(("shape", "held"), [(filtered, 1), (sliding, 2)])
def test_rows_lost_behind_filters_and_by_sliding_windows_are_exact(
    spark: SparkSession,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
    shape: Callable[[DataFrame], DataFrame],
    held: int,
) -> None:
    last: dict[Any, list[tuple[int, int]]] = {}

    def take(batch: DataFrame, _: int) -> None:
        last.update({row["window"]["start"]: [tuple(each) for each in row["records"]] for row in batch.collect()})

    writer = shape(observed(spark, kafka, skewed, tmp_path / "report")).writeStream.foreachBatch(take)
    writer = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "native"))
    assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    counts = Counter(record for records in last.values() for record in records)
    read = {(p, o) for p, n in enumerate(skewed.counts()) for o in range(n) if held == 2 or o % 2 == 0}
    truth = sum(counts[record] < held for record in read)
    assert truth > 0
    assert report(tmp_path / "report")["rows"]["lost"] == {
        "least": truth,
        "most": truth,
        "exact": True,
        "basis": "rows",
    }


def by_pandas(df: DataFrame) -> DataFrame:
    """Windows over rows that cannot be followed."""
    rows = df.select("timestamp").withWatermark("timestamp", "10 minutes")
    rows = rows.mapInPandas(lambda frames: frames, rows.schema)
    return rows.groupBy(F.window("timestamp", "1 hour")).count()


@pytest.mark.long
def test_rows_that_cannot_be_followed_are_lost_between_two_numbers_and_the_report_says_why(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    query = run(by_pandas(observed(spark, kafka, skewed, tmp_path / "report")), tmp_path / "native")
    found = report(tmp_path / "report")
    lost = found["rows"]["lost"]
    assert (lost["basis"], lost["exact"]) == ("between", False)
    assert lost["least"] == dropped(query) < lost["most"]
    assert found["summary"].startswith(f"Up to {lost['most']:,} of {RECORDS:,} rows")
    assert any("too low" in each for each in found["not_known"])


@pytest.mark.long
def test_a_query_without_state_loses_nothing_however_late_its_rows_are(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report").withWatermark("timestamp", "10 minutes")
    run(df.select("value"), tmp_path / "native")
    found = report(tmp_path / "report")
    assert found["rows"]["lost"]["most"] == 0
    assert found["rows"]["lost"]["basis"] == "stateless"
    assert found["summary"].startswith(f"No row of {RECORDS:,} rows was lost.")


@pytest.mark.long
def test_two_sources_are_counted_each_by_its_own_splits_and_their_loss_is_exact(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, topic: str, tmp_path: Path
) -> None:
    other = SkewedTopic(topic, weights=(1, 2, 1), records=4_000, late_start_hours=12)
    topics.load(kafka.bootstrap, other)
    streams = [kafka_stream(spark, kafka.bootstrap, of.name, maxOffsetsPerTrigger=BUDGET) for of in (skewed, other)]
    one, two = align_all(streams, Alignment(mode="observe", report=str(tmp_path)))
    native = WindowedCount(one.union(two)).start(tmp_path / "native").finish()
    found = report(tmp_path)
    truth = RECORDS + 4_000 - native.counted
    assert found["rows"]["lost"] == {"least": truth, "most": truth, "exact": True, "basis": "rows"}
    of = Counter({source: sum(s["lost"] for s in found["partitions"] if s["source"] == source) for source in (0, 1)})
    assert native.query is not None
    assert of == {
        i: sum(int(p["sources"][i]["metrics"]["lateRows"]) for p in native.query.recentProgress) for i in (0, 1)
    }
    assert min(of.values()) > 0
    assert {s["source"]: s["offsets"] for s in found["sources"]} == {0: RECORDS, 1: 4_000}


@pytest.mark.long
def test_a_join_s_dropped_rows_are_counted_on_each_side(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report", minPartitions=20)
    one, other = (df.withWatermark("timestamp", "10 minutes").alias(name) for name in ("one", "other"))
    same = "one.partition = other.partition AND one.offset = other.offset AND one.timestamp = other.timestamp"
    query = run(one.join(other, F.expr(same)), tmp_path / "native")
    found = report(tmp_path / "report")
    assert found["rows"]["lost"]["least"] == found["rows"]["lost"]["most"] == dropped(query) > 0


@pytest.mark.long
def test_a_record_that_a_query_reads_twice_is_lost_once(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path / "report")
    native = WindowedCount(df.union(df), window="10 minutes").start(tmp_path / "native").finish()
    lost = report(tmp_path / "report")["rows"]["lost"]
    assert 2 * lost["least"] == 2 * lost["most"] == 2 * RECORDS - native.counted > 0


def test_distance_between_partitions_is_that_of_their_first_unread_records(
    skewed: SkewedTopic, ten_minutes: Observed
) -> None:
    assert ten_minutes.query.query is not None
    apart = []
    for progress in ten_minutes.query.query.recentProgress:
        if not progress["numInputRows"]:
            continue
        start = (json.loads(progress["sources"][0]["startOffset"] or "null") or {}).get(skewed.name, {})
        heads = [
            skewed.event_time(partition, start.get(str(partition), 0))
            for partition in range(skewed.partitions)
            if start.get(str(partition), 0) < skewed.counts()[partition]
        ]
        apart.append(max(heads) - min(heads))
    assert [moment["apart_ms"] for moment in report(ten_minutes.folder)["timeline"]] == apart


@pytest.mark.long
def test_two_queries_of_one_aligned_dataframe_count_each_for_itself(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    df = observed(spark, kafka, skewed, tmp_path).withWatermark("timestamp", "10 minutes")
    counted = df.groupBy(F.window("timestamp", "1 hour")).count()
    first = counted.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "1")).start()
    try:
        wait_for(lambda: bool(first.recentProgress))
        run(counted, tmp_path / "2", name="second")
        first.processAllAvailable()
    finally:
        first.stop()
    lost = [report(tmp_path, name)["rows"]["lost"] for name in ("lockgate-observed", "lockgate-observed-second")]
    assert lost[0] == lost[1]
    assert lost[0]["exact"]
    assert lost[0]["most"] > 0


@pytest.mark.long
def test_rows_are_counted_where_a_plan_may_have_one_stateful_operator_alone(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    one_operator = spark.newSession()
    one_operator.conf.set("spark.sql.streaming.statefulOperator.allowMultiple", "false")
    df = observed(one_operator, kafka, skewed, tmp_path / "report")
    native = WindowedCount(df).start(tmp_path / "native").finish()
    truth = RECORDS - native.counted
    assert report(tmp_path / "report")["rows"]["lost"] == {
        "least": truth,
        "most": truth,
        "exact": True,
        "basis": "rows",
    }
    assert truth > 0


def test_the_guide_s_example_runs_as_it_stands_and_leaves_its_report(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    example = next(block for block in blocks(GUIDE) if block.language == "python")
    code = "\n".join(block.text for block in [*setup_of(GUIDE), example])
    paste = {'"observed': f'"{tmp_path}', '"orders"': f'"{skewed.name}"', "localhost:9092": kafka.bootstrap}
    for page, here in paste.items():
        code = code.replace(page, here)
    exec(code, {})
    assert report(tmp_path)["rows"]["read"] == RECORDS


def test_the_page_is_one_file_that_asks_no_other_host(ten_minutes: Observed) -> None:
    page = (ten_minutes.folder / "lockgate-observed.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "src=" not in page
    assert page.count("<svg") == 2
