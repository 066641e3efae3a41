"""Producers with transactions."""

from collections.abc import Iterable

from confluent_kafka import Producer

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker


def transactional(kafka: KafkaBroker, topic: str, partitions: int) -> Producer:
    """One that may begin its transactions, and the topic."""
    topics.create(kafka.bootstrap, topic, partitions)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(30)
    return producer


def send_to(producer: Producer, topic: str, partition: int, times: Iterable[int], size: int = 1) -> None:
    """A record for each of these event times (ms), as part of the transaction."""
    for event_time in times:
        producer.produce(topic, b"x" * size, partition=partition, timestamp=event_time)
    producer.flush()
