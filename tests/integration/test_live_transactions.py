"""A live producer that writes in transactions, in order and behind the clock, beside one on time:
on a real broker nothing is lost.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import WindowedCount, kafka_stream, stop_all
from support.transactions import send_to, transactional

SECOND = 1_000
ROUNDS = 8


@pytest.fixture
def running() -> Iterator[list[WindowedCount]]:
    """Queries that are stopped at the end."""
    queries: list[WindowedCount] = []
    yield queries
    stop_all(queries)


@pytest.mark.long
def test_a_producer_whose_transactions_commit_records_of_a_minute_ago_loses_no_row_beside_one_on_time(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, running: list[WindowedCount]
) -> None:
    begin = int(time.time()) * SECOND
    behind, on_time = begin - 60 * SECOND, begin - 20 * SECOND
    producer = transactional(kafka, topic, 2)
    alignment = Alignment(max_drift="20 seconds", idle_timeout="5 minutes", max_out_of_orderness=0)
    for isolation in ("read_committed", "read_uncommitted"):
        stream = kafka_stream(spark, kafka.bootstrap, topic, kafka__isolation__level=isolation)
        query = WindowedCount(align(stream, alignment), delay="20 seconds", window="1 second")
        running.append(query.start(tmp_path / isolation, available_now=False))
    for n in range(ROUNDS):
        topics.produce(kafka.bootstrap, topic, [(1, on_time + n * SECOND, None, b"x")])
        producer.begin_transaction()
        send_to(producer, topic, 0, [behind + n * SECOND])
        producer.commit_transaction(60)
        for query in running:
            query.wait_until(lambda query, n=n: reached(query, f"{topic}-0") > 2 * n)  # type: ignore[misc]
    assert [reached(query, f"{topic}-1") for query in running] == [0, 0], (
        "none of those on time before the other has come near"
    )
    producer.begin_transaction()
    send_to(producer, topic, 0, [on_time + ROUNDS * SECOND])
    producer.commit_transaction(60)
    for query in running:
        query.wait_until(
            lambda query: reached(query, f"{topic}-1") == ROUNDS and reached(query, f"{topic}-0") > 2 * ROUNDS
        )
    assert [query.counted for query in running] == [2 * ROUNDS + 1] * 2


@pytest.mark.long
def test_rows_of_a_transaction_that_is_open_in_one_available_now_run_are_kept_by_the_next(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begin = int(time.time()) * SECOND - 600 * SECOND
    producer = transactional(kafka, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(p, begin, None, b"x") for p in (0, 1)])
    topics.produce(kafka.bootstrap, topic, [(1, begin + n * SECOND, None, b"x") for n in range(1, 600)])
    producer.begin_transaction()
    send_to(producer, topic, 0, [begin + n * SECOND for n in range(1, 21)])

    def windows() -> dict[object, int]:
        stream = kafka_stream(spark, kafka.bootstrap, topic, kafka__isolation__level="read_committed")
        aligned = align(stream, Alignment(max_drift="20 seconds"))
        return WindowedCount(aligned, delay="20 seconds", window="1 second").start(tmp_path / "q").finish().windows

    first = windows()
    assert sum(first.values()) < 30, "no more than 20 s beyond what the other partition has brought"
    assert f"left for the next run: {topic}-0 has records beyond the end of this run" in caplog.text
    producer.commit_transaction(60)
    assert sum((first | windows()).values()) == 621


def reached(query: WindowedCount, split: str) -> int:
    """Where the last batch has ended."""
    return max(
        (made.end for plan in query.plans[-1:] for made in plan.partitions if made.partition == split), default=0
    )
