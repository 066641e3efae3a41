"""Patterns that no topic matches yet, or no more: the query waits for one, as natively."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align
from lockgate_spark.jvm.query import query_id_of
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running as registry
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import kafka_stream
from support.rows import Row, Rows

T0 = 1_767_225_600_000


@pytest.fixture
def running() -> Iterator[list[Rows]]:
    """Queries that are stopped at the end."""
    queries: list[Rows] = []
    yield queries
    for query in queries:
        query.stop()


def load(kafka: KafkaBroker, topic: str, records: int) -> list[Row]:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"x") for n in range(records)])
    return [Row(topic, 0, n) for n in range(records)]


def matching(spark: SparkSession, kafka: KafkaBroker, pattern: str, **options: str) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("startingOffsets", "earliest")
    )
    return reader.option("subscribePattern", pattern).options(**options).load()


def test_a_pattern_that_matches_nothing_waits_for_a_topic_alone_and_beside_another_source(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, running: list[Rows]
) -> None:
    there = load(kafka, "to-come-beside", 3)
    beside = kafka_stream(spark, kafka.bootstrap, "to-come-beside")
    pattern = matching(spark, kafka, "to-come-[0-9]")
    alone = Rows(align(pattern)).start(tmp_path / "alone", available_now=False)
    united = Rows(align(pattern.union(beside))).start(tmp_path / "union", available_now=False)
    observed = Rows(align(pattern, Alignment(mode="observe"))).start(tmp_path / "observed", available_now=False)
    running += [alone, united, observed]
    united.wait_until(lambda rows: sorted(rows.all) == there)
    came = load(kafka, "to-come-1", 4)
    for rows in (alone, observed):
        rows.wait_until(lambda rows: sorted(rows.all) == came)
    united.wait_until(lambda rows: sorted(rows.all) == sorted(came + there))
    there += [Row("to-come-beside", 0, 3)]
    topics.produce(kafka.bootstrap, "to-come-beside", [(0, T0, None, b"x")])
    united.wait_until(lambda rows: sorted(rows.all) == sorted(came + there))


@pytest.mark.long
def test_a_run_over_what_is_there_ends_where_a_pattern_matches_nothing(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    nothing = matching(spark, kafka, "to-come-never")
    assert Rows(align(nothing)).start(tmp_path / "alone").finish().batches == []
    there = load(kafka, "to-come-now", 3)
    united = Rows(align(nothing.union(kafka_stream(spark, kafka.bootstrap, "to-come-now"))))
    assert united.start(tmp_path / "union").finish().all == there


@pytest.mark.long
def test_a_pattern_whose_topics_all_go_waits_for_the_next_one_where_losses_are_allowed(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, running: list[Rows]
) -> None:
    there = load(kafka, "to-go-1", 3)
    sessions: list[AlignedRun | None] = []
    # Kafka's admin client asks for a topic that goes at that moment until its time is over.
    soon = {"kafka.default.api.timeout.ms": "5000", "kafka.request.timeout.ms": "4000"}
    aligned = align(matching(spark, kafka, "to-go-[0-9]", failOnDataLoss="false", **soon))

    def take(batch: DataFrame, _: int) -> None:
        sessions.append(registry.of_query(AlignedRun, query_id_of(batch)))

    rows = Rows(aligned, take).start(tmp_path, available_now=False)
    running.append(rows)
    rows.wait_until(lambda rows: rows.all == there)
    topics.delete(kafka.bootstrap, "to-go-1")
    rows.wait_until(
        lambda _: sessions[0] and sessions[0].view and not sessions[0].view.partitions
    )  # planned while there was none
    came = load(kafka, "to-go-2", 4)
    rows.wait_until(lambda rows: rows.all == there + came)
