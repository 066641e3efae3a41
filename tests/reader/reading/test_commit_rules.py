"""What a commit sends to Kafka."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from lockgate_reader import KafkaFailed
from lockgate_reader.kafka import KafkaClient

A, B = ("t", 0), ("t", 1)


class Committing:
    """What Kafka's client was given to commit. `fails`: it takes none."""

    def __init__(self) -> None:
        self.given: list[dict[tuple[str, int], int]] = []
        self.fails = False

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        self.given.append({(each.topic, each.partition): each.offset for each in offsets})
        if self.fails:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return offsets


def client() -> tuple[KafkaClient, Any]:
    made = KafkaClient({"bootstrap.servers": "127.0.0.1:9", "group.id": "g"})
    made._consumer = committing = Committing()  # type: ignore[assignment]
    return made, committing


def test_commit_sends_what_has_moved_or_failed_and_nothing_else() -> None:
    kafka, committing = client()
    kafka.commit({A: 1, B: 1}, wait=False)
    kafka.commit({A: 1, B: 2}, wait=False)
    kafka._on_commit(KafkaError(KafkaError._TRANSPORT), [TopicPartition(*A, 1)])
    kafka.commit({A: 1, B: 2}, wait=False)
    kafka.commit({A: 1, B: -3}, wait=False)
    assert committing.given == [{A: 1, B: 1}, {B: 2}, {A: 1}]


@pytest.mark.parametrize("wait", [True, False])
def test_commit_that_fails_at_once_is_sent_again(wait: bool) -> None:
    kafka, committing = client()
    committing.fails = True
    if wait:
        with pytest.raises(KafkaFailed, match="did not commit"):
            kafka.commit({A: 1}, wait=True)
    else:
        kafka.commit({A: 1}, wait=False)
    committing.fails = False
    kafka.commit({A: 1}, wait=False)
    assert committing.given == [{A: 1}, {A: 1}]
