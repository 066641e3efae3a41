"""Two brokers, one of which is killed while it leads partitions, comes back, and leads them again:
exact rows all the while.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.queries import WindowedCount, kafka_stream, stop_all

LAGS_MS = (0, 0, 0, 20_000)  # of each partition's producer
REPLICAS = [[1, 2], [2, 1], [1, 2], [2, 1]]  # the first is the leader while all are well
PAYLOAD = "CAST(CAST(value AS STRING) AS BIGINT)"


class TwoBrokers:
    """A cluster, and a topic of four partitions, half of which the second broker leads."""

    def __init__(self, first: KafkaBroker, second: KafkaBroker, topic: str) -> None:
        self.second, self.topic = second, topic
        self.bootstrap = f"{first.bootstrap},{second.bootstrap}"
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, **topics.QUIET})
        wanted = NewTopic(topic, len(REPLICAS), replica_assignment=REPLICAS, config=topics.TOPIC_CONFIG)
        self._admin.create_topics([wanted], request_timeout=topics.TIMEOUT_S)[topic].result()
        self.await_leaders([1, 2, 1, 2])

    def await_leaders(self, leaders: list[int]) -> None:
        wait_for(lambda: [found.leader for _, found in sorted(self._partitions().items())] == leaders)

    def lead_as_before(self) -> None:
        """Once the second broker has caught up."""
        wait_for(lambda: all(len(found.isrs) == 2 for found in self._partitions().values()))
        led = [TopicPartition(self.topic, partition) for partition in range(len(REPLICAS))]
        self._admin.elect_leaders(ElectionType.PREFERRED, led).result()
        self.await_leaders([1, 2, 1, 2])

    def _partitions(self):  # type: ignore[no-untyped-def]
        return self._admin.list_topics(self.topic, timeout=topics.TIMEOUT_S).topics[self.topic].partitions

    @contextmanager
    def fed(self) -> Iterator[list[int]]:
        """Live producers meanwhile; the list grows by the partition of each record that the brokers
        have.
        """
        written: list[int] = []
        failures: list[object] = []
        ended = threading.Event()
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 600_000,
                **topics.QUIET,
            }
        )

        def delivered(error: object, message: object) -> None:
            failures.append(error) if error is not None else written.append(message.partition())  # type: ignore[attr-defined]

        def run() -> None:
            while not ended.wait(0.05):
                now = int(time.time() * 1000)
                for partition, lag in enumerate(LAGS_MS):
                    stamp = now - lag
                    producer.produce(
                        self.topic, str(stamp).encode(), None, partition, timestamp=stamp, on_delivery=delivered
                    )
                producer.poll(0)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield written
        finally:
            ended.set()
            thread.join()
            producer.flush()
        assert failures == []


@pytest.fixture
def two_brokers(topic: str, kafka: KafkaBroker) -> Iterator[TwoBrokers]:
    # `kafka` says whether there can be a broker at all.
    with KafkaBroker() as first, KafkaBroker(joins=first) as second:
        yield TwoBrokers(first, second, topic)


@pytest.mark.long
def test_rows_stay_exact_while_leaders_change_and_a_broker_is_killed_and_comes_back(
    spark: SparkSession, two_brokers: TwoBrokers, tmp_path: Path
) -> None:
    stream = kafka_stream(spark, two_brokers.bootstrap, two_brokers.topic)
    options = {
        "max_drift": "30 seconds",
        "idle_timeout": "20 minutes",
    }  # as long as a machine may need for a broker to come back
    by_record = align(stream, Alignment(**options))
    by_payload = align(stream, Alignment(**options, event_time=PAYLOAD)).selectExpr(
        f"timestamp_millis({PAYLOAD}) AS timestamp"
    )
    queries = [WindowedCount(df, delay="30 seconds", window="10 seconds") for df in (by_record, by_payload)]
    try:
        with two_brokers.fed() as written:
            for name, query in zip(("record", "payload"), queries, strict=True):
                query.start(tmp_path / name, available_now=False)
            go_on(queries, written)
            two_brokers.second.kill()
            two_brokers.await_leaders([1, 1, 1, 1])
            go_on(queries, written)
            two_brokers.second.start()
            two_brokers.lead_as_before()
            go_on(queries, written)
        assert min(written.count(partition) for partition in range(len(LAGS_MS))) > 50
        for query in queries:
            query.wait_until(lambda query: query.counted >= len(written))
            query.wait_until_idle()
            assert query.counted == len(written)
            assert query.query is not None
            assert (
                sum(
                    op["numRowsDroppedByWatermark"]
                    for each in query.query.recentProgress
                    for op in each["stateOperators"]
                )
                == 0
            )
    finally:
        stop_all(queries)


def go_on(queries: list[WindowedCount], written: list[int]) -> None:
    """Until the queries have all that is there now, and a hundred records more."""
    enough = len(written) + 100
    for query in queries:
        query.wait_until(lambda query: query.counted >= enough)
