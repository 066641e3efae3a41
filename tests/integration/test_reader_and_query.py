"""A Spark query and a plain Python reader in one group: each waits for the other one."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pyspark.sql import SparkSession

import lockgate_spark
from lockgate_reader import AlignedConsumer, Coordinator
from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for
from support.queries import PATIENCE_S, WindowedCount, kafka_stream

RECORDS = 2_000
DRIFT = 2 * HOUR_MS
GROUP = {
    "max_drift_ms": DRIFT,
    "lease_ms": 6_000,
    "update_interval_ms": 200,
    "catch_up": "strict",
    "expected_sources": ["enrich", "count"],
}


@pytest.fixture
def day(kafka: KafkaBroker, topic: str) -> SkewedTopic:
    spec = SkewedTopic(topic, weights=(1, 2, 4), records=RECORDS)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        httpx.put(f"{coordinator.url}/v1/groups/g", json=GROUP, timeout=60).raise_for_status()
        yield coordinator.url


class Enricher:
    """A reader on a thread of its own. `gate`: it goes on while this is set."""

    def __init__(self, kafka: KafkaBroker, spec: SkewedTopic, url: str) -> None:
        self.times: list[int] = []
        self.above: list[int] = []  # records above the ceiling that the reader had received last
        self.gate = threading.Event()
        self._consumer = AlignedConsumer(
            spec.name,
            kafka={"bootstrap.servers": kafka.bootstrap},
            starting_offsets="earliest",
            coordinator=Coordinator(url, group="g", source="enrich", timeout="1 minute"),
        )
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Enricher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self._consumer.stop()
        self._thread.join(PATIENCE_S)

    @property
    def highest(self) -> int:
        return max(self.times, default=0)

    def _run(self) -> None:
        with self._consumer as consumer:
            for record in consumer:
                time, ceiling = record.timestamp()[1], consumer.status().read_limit
                self.times.append(time)
                if ceiling is not None and time > ceiling:
                    self.above.append(time)
                self.gate.wait(PATIENCE_S)


def watermark_of(url: str, source: str) -> int:
    answer = httpx.get(f"{url}/v1/groups/g/sources/{source}", timeout=60)
    readers = answer.json()["readers"] if answer.status_code == 200 else []
    return min((int(reader["watermark"] or 0) for reader in readers), default=0)


def holders(url: str) -> set[str]:
    alignment = httpx.get(f"{url}/v1/groups/g", timeout=60).raise_for_status().json()["alignment"]
    return {holder["source"] for holder in alignment["blocked_by"]}


def test_a_query_and_a_reader_hold_each_other(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, url: str, tmp_path: Path
) -> None:
    stream = kafka_stream(spark, kafka.bootstrap, day.name, maxOffsetsPerTrigger=RECORDS // 4)
    group = lockgate_spark.Coordinator(url, group="g", source="count", timeout="1 minute")
    query = WindowedCount(align(stream, Alignment(coordinator=group)))
    with Enricher(kafka, day, url) as reader:
        wait_for(lambda: watermark_of(url, "enrich"))
        assert not reader.times, "the query has not reported, and is expected"
        query.start(tmp_path / "checkpoint", name="count")
        query.wait_until(lambda query: query.plans)
        wait_for(lambda: reader.times)
        # The reader stands still at its first record: the query stops a drift above it.
        held_at = day.t0_ms + DRIFT
        wait_for(lambda: watermark_of(url, "count") >= held_at - HOUR_MS)
        assert max(plan.target for plan in query.plans) <= held_at
        assert holders(url) == {"enrich"}
        reader.gate.set()
        query.finish()
        wait_for(lambda: len(reader.times) == RECORDS, PATIENCE_S)
    assert query.counted == RECORDS
    assert [plan for plan in query.plans if plan.target > plan.read_limit] == []
    assert reader.above == []
