"""Live topics on a real broker: late producers, new partitions, absurd timestamps, topics made
anew, queries stopped at any moment.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException, StreamingQueryListener

from lockgate import watermark
from lockgate_spark import Alignment, BatchAlignment, Coordinator, align, align_all, report_progress
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.queries import PATIENCE_S, WindowedCount, kafka_stream, stop_all

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.fixture
def running() -> Iterator[list[WindowedCount]]:
    """Queries that are stopped at the end."""
    queries: list[WindowedCount] = []
    yield queries
    stop_all(queries)


class Heard(StreamingQueryListener):
    """A listener that keeps the metrics of each batch's first source, by query and batch."""

    def __init__(self) -> None:
        self.metrics: dict[tuple[str, int], Mapping[str, str]] = {}

    def onQueryStarted(self, event: Any) -> None: ...  # noqa: N802 – Spark's names

    def onQueryIdle(self, event: Any) -> None: ...  # noqa: N802

    def onQueryTerminated(self, event: Any) -> None: ...  # noqa: N802

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self.metrics[str(event.progress.id), event.progress.batchId] = event.progress.sources[0].metrics

    def of(self, query: WindowedCount) -> list[tuple[BatchAlignment, Mapping[str, str]]]:
        """Plan and metrics of each batch so far; the listener hears of the last one a moment
        later.
        """
        assert query.query is not None
        id_, plans = query.query.id, list(query.plans)
        wait_for(lambda: (id_, len(plans) - 1) in self.metrics)
        return [(plan, self.metrics[id_, batch]) for batch, plan in enumerate(plans)]


@pytest.fixture
def heard(spark: SparkSession) -> Iterator[Heard]:
    listener = Heard()
    spark.streams.addListener(listener)
    yield listener
    spark.streams.removeListener(listener)


def now_ms() -> int:
    return int(time.time() * 1000)


def append(kafka: KafkaBroker, topic: str, partition: int, times: Sequence[int]) -> None:
    topics.produce(kafka.bootstrap, topic, [(partition, event_time, None, b"x") for event_time in times])


def dropped(query: WindowedCount) -> int:
    assert query.query is not None
    return sum(
        op["numRowsDroppedByWatermark"] for progress in query.query.recentProgress for op in progress["stateOperators"]
    )


def last_plan(query: WindowedCount) -> BatchAlignment:
    return query.plans[-1]


# -- a producer that is behind --


@pytest.mark.long
def test_a_producer_three_hours_behind_loses_nothing_in_two_queries_of_a_group_where_native_spark_does(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount], heard: Heard
) -> None:
    begin, rounds, step = now_ms() - 3 * HOUR, 9, 24 * MINUTE
    names = [f"{topic}-{n}" for n in "ab"]
    punctual = range(begin, begin + 3 * HOUR, MINUTE)
    for name in names:
        topics.create(kafka.bootstrap, name, 2)
        append(kafka, name, 0, [begin])
        append(kafka, name, 1, punctual)
    on_time = len(punctual)
    with CoordinatorProcess() as coordinator:
        group = Coordinator(coordinator.url, group="live")
        alignment = Alignment(max_drift="10 minutes", idle_timeout="4 hours", coordinator=group)
        streams = [kafka_stream(spark, kafka.bootstrap, name) for name in names]
        for name, stream in zip(names, streams, strict=True):
            running.append(
                WindowedCount(align(stream, alignment), window="10 minutes").start(tmp_path / name, available_now=False)
            )
        native = WindowedCount(streams[0], window="10 minutes").start(tmp_path / "native", available_now=False)
        running.append(native)
        aligned = running[:2]
        native.wait_until(lambda query: query.counted >= on_time)
        for n in range(1, rounds):
            for name in names:
                append(kafka, name, 0, [min(begin + n * step, now_ms())])
            for query in aligned:
                query.wait_until(lambda query, n=n: query.counted > n)  # type: ignore[misc]
        for query in aligned:
            query.wait_until(lambda query: query.counted >= on_time + rounds)
        native.wait_until_idle()
    assert [query.counted for query in aligned] == [on_time + rounds] * 2
    assert [dropped(query) for query in aligned] == [0, 0]
    for query in aligned:
        held = [(plan, metrics) for plan, metrics in heard.of(query) if plan.paused]
        assert len(held) > 1
        for plan, metrics in held:
            assert metrics["alignmentTarget"] == watermark.iso(plan.target)
            assert metrics["alignmentPausedPartitions"] == str(len(plan.paused))
            assert metrics["alignmentPausedMs"] == str(plan.paused_ms)
            assert metrics["alignmentPlanMs"] == str(round(plan.seconds * 1000))
        assert max(int(metrics["alignmentPausedMs"]) for _, metrics in held) > 0
        assert max(int(metrics["alignmentPlanMs"]) for _, metrics in held) > 0
    # how many of them it loses hangs on the pace of its batches
    assert native.counted < on_time + rounds


def test_with_defaults_new_records_are_read_at_once_a_silent_split_holds_nobody_and_a_producer_s_lag_is_shown(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount]
) -> None:
    topics.create(kafka.bootstrap, topic, 3)  # partition 2 stays empty
    append(kafka, topic, 1, [now_ms() - HOUR])
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path, available_now=False)
    running.append(query)
    query.wait_until(lambda query: query.counted == 1)
    for n in range(2, 5):
        append(kafka, topic, 0, [now_ms()])
        query.wait_until(lambda query, n=n: query.counted == n)  # type: ignore[misc]
    assert last_plan(query).paused == ()
    # A look at the log after the last batch finds nothing: as of then at least, all that was there
    # is known.
    query.wait_until_idle()
    read_at = max(
        plan.planned_at for plan in query.plans if any(split.end > split.position for split in plan.partitions)
    )
    late = int(read_at * 1000) - 3 * MINUTE
    append(kafka, topic, 2, [late])
    most = now_ms() - late
    query.wait_until(lambda query: query.counted == 5)
    # A batch is counted before Spark tells of it, and some batches have no rows: the last one that
    # is told of can be an earlier one.
    lags: list[int] = []
    wait_for(lambda: lags.extend(producer_lags(query)) or any(lags))
    assert max(lags) <= most


def producer_lags(query: WindowedCount) -> list[int]:
    """Producer lags (ms) by batch, for the batches in Spark's progress."""
    assert query.query is not None
    return [
        int(progress["sources"][0]["metrics"].get("alignmentProducerLagMs", 0))
        for progress in query.query.recentProgress
    ]


@pytest.mark.long
def test_with_defaults_nothing_is_lost_of_a_producer_half_an_hour_behind_beside_one_on_time(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount]
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    stream = kafka_stream(spark, kafka.bootstrap, topic)
    aligned = WindowedCount(align(stream), delay="20 seconds", window="10 seconds").start(
        tmp_path / "aligned", available_now=False
    )
    running.append(aligned)
    behind, rounds = [], 30
    for n in range(rounds):
        behind.append(now_ms() - 30 * MINUTE)
        append(kafka, topic, 0, [now_ms()])
        append(kafka, topic, 1, [behind[-1]])
        if n % 5 == 0:
            aligned.wait_until(lambda query: sum(query.counts_before(behind[-1] + 10 * MINUTE)) == len(behind))
    aligned.wait_until(lambda query: sum(query.counts_before(behind[-1] + 10 * MINUTE)) == rounds)
    assert dropped(aligned) == 0
    assert last_plan(aligned).behind


@pytest.mark.long
@pytest.mark.parametrize("available_now", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_query_that_asks_for_all_that_is_available_reads_it_though_a_split_is_silent(
    spark: SparkSession,
    kafka: KafkaBroker,
    topic: str,
    tmp_path: Path,
    running: list[WindowedCount],
    available_now: bool,
) -> None:
    topics.create(kafka.bootstrap, topic, 2)  # partition 1 stays empty
    append(kafka, topic, 0, [now_ms()] * 10)
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic)), delay="10 seconds").start(
        tmp_path, available_now=available_now
    )
    running.append(query)
    if available_now:
        query.finish()
    else:
        assert query.query is not None
        query.query.processAllAvailable()
    assert query.counted == 10


@pytest.mark.long
def test_a_partition_added_while_the_query_runs_is_read_from_its_first_record(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount]
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [now_ms()])
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path, available_now=False)
    running.append(query)
    query.wait_until(lambda query: query.counted == 1)
    topics.widen(kafka.bootstrap, topic, 3)
    for partition in range(3):
        append(kafka, topic, partition, [now_ms()] * 5)
    query.wait_until(lambda query: query.counted == 16)
    began = {split.partition: split.position for plan in reversed(query.plans) for split in plan.partitions}
    assert began == {f"{topic}-{partition}": 0 for partition in range(3)}


# -- absurd timestamps --


@pytest.mark.long
def test_a_late_record_stamped_1970_is_dropped_as_natively_and_nothing_else_is(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount]
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    append(kafka, topic, 0, [1, now_ms() - 2 * MINUTE])
    append(kafka, topic, 1, [now_ms() - MINUTE])
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path, available_now=False)
    running.append(query)
    query.wait_until(lambda query: query.counted == 3)
    append(kafka, topic, 1, [now_ms()])  # Spark drops by the watermark of the batch before
    query.wait_until(lambda query: query.counted == 4)
    append(kafka, topic, 0, [1, now_ms()])
    append(kafka, topic, 1, [now_ms()])
    query.wait_until(lambda query: query.counted == 6)
    wait_for(lambda: dropped(query) == 1)


# -- topics that go, and come back under their name --


@pytest.mark.long
def test_a_topic_made_anew_is_a_loss_that_spark_reports_as_it_does_natively(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [now_ms()] * 5)
    stream = kafka_stream(spark, kafka.bootstrap, topic)
    for name, df in (("native", stream), ("aligned", align(stream))):
        assert WindowedCount(df).start(tmp_path / name).finish().counted == 5
    topics.delete(kafka.bootstrap, topic)
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [now_ms()] * 3)
    for name, df in (("native", stream), ("aligned", align(stream))):
        with pytest.raises(StreamingQueryException, match=r"KAFKA_DATA_LOSS|offset was changed from 5 to 3"):
            WindowedCount(df).start(tmp_path / name).finish()


@pytest.mark.long
def test_one_of_several_topics_goes_and_the_others_are_read_on_where_losses_are_allowed(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, running: list[WindowedCount]
) -> None:
    for name in ("going-away", "going-on"):
        topics.create(kafka.bootstrap, name, 1)
        append(kafka, name, 0, [now_ms()] * 2)
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("startingOffsets", "earliest")
    )
    stream = reader.option("subscribePattern", "going-.*").option("failOnDataLoss", "false").load()
    query = WindowedCount(align(stream)).start(tmp_path, available_now=False)
    running.append(query)
    query.wait_until(lambda query: query.counted == 4)
    topics.delete(kafka.bootstrap, "going-away")
    append(kafka, "going-on", 0, [now_ms()] * 3)
    query.wait_until(lambda query: query.counted == 7)
    query.stop()
    append(kafka, "going-on", 0, [now_ms()])
    again = WindowedCount(align(stream)).start(tmp_path).finish()
    assert sum({**query.windows, **again.windows}.values()) == 8
    topics.delete(kafka.bootstrap, "going-on")


# -- the end of a query --


def kafka_threads(spark: SparkSession) -> set[str]:
    threads = spark._jvm.java.lang.Thread.getAllStackTraces().keySet()  # type: ignore[union-attr]
    return {name for thread in threads if "kafka-admin-client" in (name := str(thread.getName()))}


@pytest.mark.long
def test_a_live_query_stops_at_any_moment_without_an_error_and_leaves_nothing_open(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for side in "ab":
        topics.create(kafka.bootstrap, f"{topic}-{side}", 4)
    before = kafka_threads(spark)
    a, b = align_all([kafka_stream(spark, kafka.bootstrap, f"{topic}-{side}", maxOffsetsPerTrigger=3) for side in "ab"])
    for turn in range(8):
        for side in "ab":
            topics.produce(kafka.bootstrap, f"{topic}-{side}", [(n % 4, now_ms(), None, b"x") for n in range(40)])
        query = WindowedCount(a.union(b)).start(tmp_path, available_now=False)
        query.wait_until(lambda query: len(query.alignments) >= 1)
        threading.Event().wait(0.03 * turn)
        query.stop()
        assert query.query is not None
        assert query.query.exception() is None
    assert [
        record.getMessage() for record in caplog.records if record.name == "lockgate" and record.levelname == "ERROR"
    ] == []
    wait_for(lambda: kafka_threads(spark) <= before)


@pytest.mark.long
def test_executors_report_nothing_and_fail_nothing_while_the_coordinator_has_forgotten_the_reader(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [now_ms()] * 3)
    with CoordinatorProcess() as coordinator:

        def work(batch: DataFrame, _: int) -> None:
            coordinator.kill()
            coordinator.start()
            report_progress(batch)

        stream = align(
            kafka_stream(spark, kafka.bootstrap, topic), Alignment(coordinator=Coordinator(coordinator.url, group="g"))
        )
        query = (
            stream.writeStream.foreachBatch(work)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S)


def test_trigger_once_is_refused_since_one_batch_cannot_wait_and_read_on(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, 0, [now_ms()])
    writer = (
        align(kafka_stream(spark, kafka.bootstrap, topic))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
    )
    with pytest.raises(StreamingQueryException, match=r"Trigger\.Once.*availableNow"):
        writer.trigger(once=True).start().awaitTermination(60)
