"""Topics that come, go, shrink and have holes, on a real broker. Losses that Spark reports are
Spark's own, and nothing else is lost.
"""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate.plan.model import Limit
from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.queries import kafka_stream
from support.rows import Row, Rows
from support.transactions import send_to, transactional

MINUTE = 60_000
HOUR = 60 * MINUTE
DAYS_AGO = 1_767_225_600_000
HOURS_BEHIND = Alignment(max_drift="10 minutes", idle_timeout="5 hours", max_out_of_orderness="0 seconds")
"""For producers that may be hours behind: a split that was, holds the others."""


@pytest.fixture
def running() -> Iterator[list[Rows]]:
    """Queries that are stopped at the end."""
    queries: list[Rows] = []
    yield queries
    for query in queries:
        query.stop()


def append(kafka: KafkaBroker, topic: str, partition: int, times: list[int], size: int = 1) -> None:
    topics.produce(kafka.bootstrap, topic, [(partition, event_time, b"key", b"x" * size) for event_time in times])


def minutes_ago(*minutes: float) -> list[int]:
    now = int(time.time() * 1000)
    return [now - int(m * MINUTE) for m in minutes]


def matching(spark: SparkSession, kafka: KafkaBroker, pattern: str, **options: str) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("startingOffsets", "earliest")
    )
    return reader.option("subscribePattern", pattern).options(**options).load()


# -- topics that come and go --


def test_a_topic_that_appears_is_read_from_its_first_record_and_one_that_goes_is_a_loss(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, running: list[Rows]
) -> None:
    topics.create(kafka.bootstrap, "appears-a", 1)
    append(kafka, "appears-a", 0, minutes_ago(3, 2))
    rows = Rows(align(matching(spark, kafka, "appears-.*"))).start(tmp_path, available_now=False)
    running.append(rows)
    rows.wait_until(lambda rows: len(rows.all) == 2)
    topics.create(kafka.bootstrap, "appears-b", 2)
    for partition in (0, 1):
        append(kafka, "appears-b", partition, minutes_ago(1, 1))
    rows.wait_until(lambda rows: len(rows.all) == 6)
    topics.delete(kafka.bootstrap, "appears-a")
    wait_for(lambda: not rows.running)
    with pytest.raises(StreamingQueryException, match=r"Partitions Set\(appears-a-0\) have been deleted"):
        rows.finish()
    topics.delete(kafka.bootstrap, "appears-b")


@pytest.mark.long
def test_a_topic_made_anew_under_its_name_is_read_from_its_first_record_where_losses_are_allowed(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, running: list[Rows]
) -> None:
    for name in ("anew-a", "anew-b"):
        topics.create(kafka.bootstrap, name, 1)
        append(kafka, name, 0, minutes_ago(3, 3, 3))
    rows = Rows(align(matching(spark, kafka, "anew-.*", failOnDataLoss="false"))).start(tmp_path, available_now=False)
    running.append(rows)
    rows.wait_until(lambda rows: len(rows.all) == 6)
    topics.delete(kafka.bootstrap, "anew-a")
    rows.wait_until(
        lambda rows: all(split.partition != "anew-a-0" for plan in rows.plans[-1:] if plan for split in plan.partitions)
    )
    topics.create(kafka.bootstrap, "anew-a", 1)
    append(kafka, "anew-a", 0, minutes_ago(1, 1))
    rows.wait_until(lambda rows: len(rows.all) == 8)
    assert rows.all[-2:] == [Row("anew-a", 0, 0), Row("anew-a", 0, 1)]
    topics.delete(kafka.bootstrap, "anew-a", "anew-b")


# -- retention --


@pytest.mark.long
@pytest.mark.parametrize("fail", [True, False])
def test_when_retention_overtakes_a_paused_split_fail_on_data_loss_decides_as_in_spark(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[Rows], fail: bool
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    slow, fast = minutes_ago(180), minutes_ago(*range(180, 120, -1))
    append(kafka, topic, 0, slow)
    append(kafka, topic, 1, fast)
    source = kafka_stream(spark, kafka.bootstrap, topic, failOnDataLoss=str(fail).lower())
    paused = Rows(align(source, HOURS_BEHIND)).start(tmp_path, available_now=False)
    running.append(paused)
    paused.wait_until(lambda rows: len(rows.all) == 11)
    plan = paused.plans[0]
    assert plan is not None
    assert (plan.limited_by, plan.bounded_by, plan.paused) == (Limit.HORIZON, f"{topic}-0", (f"{topic}-1",))
    assert {split.partition: split.next_event_time for split in plan.partitions} == {
        f"{topic}-0": None,
        f"{topic}-1": fast[10],
    }
    wait_for((tmp_path / "commits" / "0").exists)  # else the batch is repeated
    # Spark's executors may hold records that Kafka has no more; a query that starts anew has none
    # of them
    paused.stop()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_records([TopicPartition(topic, 1, 30)])[TopicPartition(topic, 1, 30)].result()
    append(kafka, topic, 0, minutes_ago(120))
    again = Rows(align(source, HOURS_BEHIND)).start(tmp_path)
    if fail:
        with pytest.raises(StreamingQueryException, match=r"(?i)may have been (lost|missed)"):
            again.finish()
    else:
        assert again.finish().all == [Row(topic, 0, 1), *(Row(topic, 1, offset) for offset in range(30, 60))]


@pytest.mark.parametrize(
    ("config", "least", "most"),
    [
        ({"retention.ms": str(4 * HOUR)}, 4, 7),
        pytest.param({"retention.bytes": "20000"}, 15, 30, marks=pytest.mark.long),
    ],
    ids=["retention.ms", "retention.bytes"],
)
def test_a_paused_split_is_let_go_before_kafka_deletes_its_records(
    spark: SparkSession,
    kafka: KafkaBroker,
    topic: str,
    tmp_path: Path,
    running: list[Rows],
    caplog: pytest.LogCaptureFixture,
    config: dict[str, str],
    least: int,
    most: int,
) -> None:
    topics.create(kafka.bootstrap, topic, 2, config)
    append(kafka, topic, 0, minutes_ago(230), size=1_000)
    append(kafka, topic, 1, minutes_ago(*range(230, 180, -1)), size=1_000)
    rows = Rows(align(kafka_stream(spark, kafka.bootstrap, topic), HOURS_BEHIND)).start(tmp_path, available_now=False)
    running.append(rows)
    rows.wait_until(lambda rows: len(rows.all) >= 11)
    plan = rows.plans[0]
    assert plan is not None
    assert plan.read_early == (f"{topic}-1",)
    ahead = next(split for split in plan.partitions if split.partition == f"{topic}-1")
    assert least <= ahead.read_early <= most
    assert ahead.end == 10 + ahead.read_early
    told = next(record.getMessage() for record in caplog.records if "reading early" in record.getMessage())
    assert re.search(
        rf"topic {re.escape(topic)}, partition 1: reading early from offset 10 to {ahead.end}.*{next(iter(config))} is",
        told,
    )


# -- records without an event time of their own, and logs with holes --


@pytest.mark.long
def test_records_stamped_by_the_broker_are_warned_of(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 1, {"message.timestamp.type": "LogAppendTime"})
    append(kafka, topic, 0, [DAYS_AGO] * 3)
    rows = Rows(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path).finish()
    assert len(rows.all) == 3
    assert "message.timestamp.type=LogAppendTime" in caplog.text


@pytest.mark.long
def test_a_compacted_topic_is_read_level_over_its_holes(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    compaction = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": str(HOUR)}
    topics.create(kafka.bootstrap, topic, 2, compaction)
    times = [[DAYS_AGO + n * (1 + partition) * MINUTE for n in range(200)] for partition in (0, 1)]
    for partition in (0, 1):
        records = [
            (partition, at, b"%d" % n if n % 10 == 0 else b"often", b"x") for n, at in enumerate(times[partition])
        ]
        topics.produce(kafka.bootstrap, topic, records)
        times[partition].append(DAYS_AGO + 100 * HOUR)
        # begins a segment: what is written to is not compacted
        append(kafka, topic, partition, times[partition][-1:])
    wait_for(lambda: len(held(kafka, topic)) < 150)
    before = held(kafka, topic)
    rows = Rows(align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=90))).start(tmp_path).finish()
    assert held(kafka, topic) <= set(rows.all) <= before
    assert len([batch for batch in rows.batches if batch]) >= 4
    assert_level(rows, times)


def assert_level(rows: Rows, times: Sequence[Sequence[int]]) -> None:
    """No batch holds a record that is older than what the batches before have read. `times`: by
    partition and offset.
    """
    for n, plan in enumerate(rows.plans):
        assert plan is not None
        assert all(times[row.partition][row.offset] <= plan.target for row in rows.batches[n])
        assert all(times[row.partition][row.offset] > plan.target for batch in rows.batches[n + 1 :] for row in batch)


def held(kafka: KafkaBroker, topic: str) -> set[Row]:
    """The records that a consumer finds in the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "held",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in (0, 1)])
    found, ends = set(), 0
    while ends < 2:
        message = consumer.poll(60)
        assert message is not None
        if message.error():
            ends += 1
        else:
            found.add(Row(topic, message.partition(), message.offset()))
    consumer.close()
    return found


# -- transactions --


@pytest.fixture
def producer(kafka: KafkaBroker, topic: str) -> Producer:
    """One with transactions, for a topic with two partitions."""
    return transactional(kafka, topic, 2)


@pytest.mark.parametrize("in_each", [10, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("made", ["now", pytest.param("long ago", marks=pytest.mark.long)])
def test_committed_records_of_a_transactional_topic_are_read_level_and_once(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, producer: Producer, made: str, in_each: int
) -> None:
    # A marker bears the broker's clock, and a look-up finds it like a record: it is later than what
    # comes behind it, or earlier. Of large records, 40 in a transaction are more than is looked at
    # before a plan.
    aborted = range(1, 12, 3) if in_each == 10 else ()
    begin, committed = DAYS_AGO if made == "long ago" else int(time.time() * 1000) + HOUR, 0
    times = [[begin + n * MINUTE for n in range(120)], [begin + HOUR + n * MINUTE // 2 for n in range(120)]]
    for n in range(120 // in_each):
        producer.begin_transaction()
        for partition in (0, 1):
            send_to(producer, topic, partition, times[partition][in_each * n : in_each * (n + 1)], size=100 * in_each)
        if n in aborted:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
            committed += 2 * in_each
    source = kafka_stream(
        spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=60, kafka__isolation__level="read_committed"
    )
    rows = Rows(align(source)).start(tmp_path).finish()
    assert len(rows.all) == len(set(rows.all)) == committed
    assert all(row.offset // (in_each + 1) not in aborted for row in rows.all), (
        "so many records and a marker a transaction"
    )
    for log in times:
        log[:] = (
            at for n in range(120 // in_each) for at in (*log[in_each * n : in_each * (n + 1)], -1)
        )  # the markers have offsets, too
    assert {row.partition for row in rows.batches[0]} == {0}, "partition 1 begins an hour later"
    assert len([batch for batch in rows.batches if batch]) >= 3
    assert_level(rows, times)
    assert all(plan and sum(split.end - split.position for split in plan.partitions) <= 60 for plan in rows.plans)


@pytest.mark.long
def test_an_open_transaction_holds_the_others_and_a_committed_one_lets_them_go(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, producer: Producer, running: list[Rows]
) -> None:
    source = kafka_stream(spark, kafka.bootstrap, topic, kafka__isolation__level="read_committed")
    rows = Rows(align(source, Alignment(max_drift="10 minutes", idle_timeout="10 minutes"))).start(
        tmp_path, available_now=False
    )
    running.append(rows)
    append(kafka, topic, 1, minutes_ago(1))
    rows.wait_until(lambda rows: len(rows.all) == 1)
    producer.begin_transaction()
    send_to(producer, topic, 0, minutes_ago(9))
    opened = time.time()
    append(
        kafka, topic, 1, [int(opened * 1000) + 5_000]
    )  # may be read once it is known what was there 5 s after the transaction began
    wait_for(lambda: time.time() > opened + 6)
    assert rows.all == [Row(topic, 1, 0)]
    producer.commit_transaction(30)
    rows.wait_until(lambda rows: len(rows.all) == 3)
