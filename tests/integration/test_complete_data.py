"""`wait_until` says that data is complete only once Spark has read it and its batch is done."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_http import wait_until
from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.queries import kafka_stream
from support.rows import Rows

T0 = datetime(2026, 1, 1, tzinfo=timezone.utc)
BATCH, BATCHES = 100, 4
MS = timedelta(milliseconds=1)


def after(records: int) -> datetime:
    """Return the event time of the record behind these many; there is one a second."""
    return T0 + timedelta(seconds=records)


@pytest.fixture
def orders(kafka: KafkaBroker, topic: str, spark: SparkSession) -> DataFrame:
    topics.create(kafka.bootstrap, topic, 1)
    first = round(T0.timestamp() * 1000)
    topics.produce(kafka.bootstrap, topic, [(0, first + 1000 * n, None, b"x") for n in range(BATCH * BATCHES)])
    return kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BATCH)


def test_an_hour_is_complete_after_its_batch_and_not_in_it(orders: DataFrame, topic: str, tmp_path: Path) -> None:
    with CoordinatorProcess() as coordinator:
        url = f"{coordinator.url}/v1/groups/{topic}"
        httpx.put(url, json={"lease_ms": 1_000}, timeout=60).raise_for_status()
        group = Coordinator(coordinator.url, group=topic, source="orders", timeout="1 minute")
        passed: list[tuple[bool, bool]] = []

        def in_batch(batch: DataFrame, _: int) -> None:
            wait_for(lambda: age(url) > 1_000)
            begins = after(batch.selectExpr("min(offset)").head()[0])  # earlier batches have read what is before it
            passed.append((wait_until(group, begins, 0), wait_until(group, begins + MS, 0)))

        first = Rows(align(orders, Alignment(coordinator=group)), in_batch).start(tmp_path, available_now=False)
        first.wait_until(lambda rows: len(rows.batches) == 2)
        first.stop()
        read = len(first.all)
        assert wait_until(group, after(BATCH), 0)
        assert not wait_until(group, after(BATCH * BATCHES), 0), "it was stopped in its backlog"

        second = Rows(align(orders, Alignment(coordinator=group)), in_batch).start(tmp_path).finish()
        assert wait_until(group, after(BATCH * BATCHES), 0)
        assert not wait_until(group, datetime.now(timezone.utc), 0), "what a live producer may still append"

    assert read < BATCH * BATCHES <= read + len(second.all)
    assert passed == [(True, False)] * len(passed)


def age(url: str) -> int:
    """Return how old the group is, in ms."""
    found = httpx.get(url, timeout=60).json()
    return int(found["now"] - found["created_at"])
