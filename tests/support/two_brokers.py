"""Two brokers and a topic that both lead, with live producers."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for

LAGS_MS = (0, 0, 0, 20_000)  # of each partition's producer
REPLICAS = [[1, 2], [2, 1], [1, 2], [2, 1]]  # the first is the leader while all are well


class TwoBrokers:
    """A cluster, and a topic of four partitions, half of which the second broker leads.
    `replicas`: of the topic's partitions.
    """

    def __init__(
        self, first: KafkaBroker, second: KafkaBroker, topic: str, replicas: Sequence[Sequence[int]] = REPLICAS
    ) -> None:
        self.second, self.topic = second, topic
        self.bootstrap = f"{first.bootstrap},{second.bootstrap}"
        self._leaders = [each[0] for each in replicas]
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, **topics.QUIET})
        wanted = NewTopic(topic, len(replicas), replica_assignment=[*map(list, replicas)], config=topics.TOPIC_CONFIG)
        self._admin.create_topics([wanted], request_timeout=topics.TIMEOUT_S)[topic].result()
        self.await_leaders(self._leaders)

    def await_leaders(self, leaders: list[int]) -> None:
        wait_for(lambda: [found.leader for _, found in sorted(self._partitions().items())] == leaders)

    def await_second_leads_none(self) -> None:
        """Wait until the second broker leads nothing. On a busy machine, the first one may have
        left the in-sync replicas meanwhile. Then a partition has no leader until the second one is
        back.
        """
        wait_for(lambda: all(found.leader != 2 for found in self._partitions().values()))

    def await_in_sync(self) -> None:
        """Wait until both brokers have all records, so that either may lead."""
        wait_for(lambda: all(len(found.isrs) == 2 for found in self._partitions().values()))

    def lead_as_before(self) -> None:
        """Once the second broker has caught up."""
        self.await_in_sync()
        led = [TopicPartition(self.topic, partition) for partition in range(len(self._leaders))]
        self._admin.elect_leaders(ElectionType.PREFERRED, led).result()
        self.await_leaders(self._leaders)

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
