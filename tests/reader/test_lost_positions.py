"""Positions that Kafka no longer has: nothing is passed over without a word."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition, Uuid
from confluent_kafka.admin import AdminClient

from lockgate_reader import AlignedConsumer, ConfigurationError, NoStartingOffset
from lockgate_reader.reading.logs import Logs
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.services import Service, filled, make_group, positions_of

Consumers = Callable[..., AlignedConsumer]

pytestmark = pytest.mark.kafka

LOOKS_OFTEN = {"topic.metadata.refresh.interval.ms": 100}
GOES_ON = {"auto.offset.reset": "earliest"}


def made_anew(kafka: KafkaBroker, topic: str, counts: list[int]) -> None:
    topics.delete(kafka.bootstrap, topic)
    filled(kafka, topic, counts)


def deleted_below(kafka: KafkaBroker, topic: str, offset: int) -> None:
    admin, where = AdminClient({"bootstrap.servers": kafka.bootstrap}), TopicPartition(topic, 0, offset)
    admin.delete_records([where])[where].result()


def taken(consumer: AlignedConsumer, count: int) -> list[int]:
    records = iter(consumer)
    return [int(next(records).offset() or 0) for _ in range(count)]


def offsets_of(consumer: AlignedConsumer) -> list[int]:
    """Of all that it reads. One that would read for ever is stopped."""
    stops = threading.Timer(60, consumer.stop)
    stops.start()
    try:
        return [int(record.offset() or 0) for record in consumer]
    finally:
        stops.cancel()


def described(number: int) -> "Future[Any]":
    future = Future[Any]()
    future.set_result(SimpleNamespace(topic_id=Uuid(0, number)))
    return future


@pytest.mark.parametrize("count", [3, 15], ids=["shorter than it was read", "longer than it was read"])
def test_topic_made_anew_is_an_error_and_moves_the_position_to_its_start(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, count: int
) -> None:
    filled(kafka, topic, [10])
    consumer = consumer_of(topic, LOOKS_OFTEN)
    assert taken(consumer, 10) == list(range(10))
    made_anew(kafka, topic, [count])
    says = rf"no longer has {topic}-0 at offset 1\d: .* the offsets from 0 up to {count}, because the topic was deleted"
    with pytest.raises(NoStartingOffset, match=says):
        offsets_of(consumer)
    again = consumer_of(topic)
    again.restore(consumer.snapshot())
    assert taken(again, count) == list(range(count))


@pytest.mark.parametrize("count", [3, 15])
def test_topic_made_anew_is_read_from_its_start_if_the_user_says_so(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, caplog: pytest.LogCaptureFixture, count: int
) -> None:
    filled(kafka, topic, [10])
    consumer = consumer_of(topic, {**GOES_ON, **LOOKS_OFTEN, "group.id": topic})
    assert taken(consumer, 10) == list(range(10))
    made_anew(kafka, topic, [count])
    found = list[int]()
    stops = threading.Timer(60, consumer.stop)
    stops.start()
    for record in consumer:
        found.append(int(record.offset() or 0))
        if found[-count:] == list(range(count)):
            break
    stops.cancel()
    assert found[-count:] == list(range(count))
    assert "the topic was deleted and created again" in caplog.text
    consumer.close()
    assert consumer.positions() == {(topic, 0): count}


def test_position_behind_the_end_of_its_log_is_an_error_with_the_offsets(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [3])
    says = rf"no longer has {topic}-0 at offset 7: .* from 0 up to 3, .* or its log was truncated; set"
    with pytest.raises(NoStartingOffset, match=says):
        offsets_of(consumer_of(topic, starting_offsets={(topic, 0): 7}))
    goes_on = consumer_of(topic, GOES_ON, starting_offsets={(topic, 0): 7}, ending_offsets="latest")
    assert offsets_of(goes_on) == [0, 1, 2]
    bounded = consumer_of(topic, starting_offsets={(topic, 0): 7}, ending_offsets="latest")
    with pytest.raises(NoStartingOffset, match=says):
        offsets_of(bounded)


def test_records_deleted_unread_are_an_error_that_names_them(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10])
    deleted_below(kafka, topic, 6)
    says = rf"no longer has {topic}-0 at offset 2: the log now has the offsets from 6 up to 10, because retention"
    with pytest.raises(NoStartingOffset, match=says):
        offsets_of(consumer_of(topic, starting_offsets={(topic, 0): 2}))


@pytest.mark.parametrize(("reset", "found"), [("earliest", [6, 7, 8, 9]), ("latest", [])])
def test_behind_deleted_records_a_split_goes_on_where_the_user_says(
    kafka: KafkaBroker,
    topic: str,
    consumer_of: Consumers,
    caplog: pytest.LogCaptureFixture,
    reset: str,
    found: list[int],
) -> None:
    filled(kafka, topic, [10])
    deleted_below(kafka, topic, 6)
    settings = {"auto.offset.reset": reset}
    consumer = consumer_of(topic, settings, starting_offsets={(topic, 0): 2}, ending_offsets="latest")
    assert offsets_of(consumer) == found
    assert [record.levelno for record in caplog.records if "retention" in record.message] == [logging.WARNING]


def test_a_group_reads_a_topic_that_was_made_anew_from_its_first_record(kafka: KafkaBroker, topic: str) -> None:
    filled(kafka, topic, [10])
    with CoordinatorProcess() as coordinator:
        make_group(coordinator.url, topic)
        with Service(kafka, topic, coordinator.url, topic) as service:
            wait_for(lambda: positions_of(coordinator.url, topic) == {f"{topic}-0": 10})
            made_anew(kafka, topic, [3])
            wait_for(lambda: service.ended)
            assert isinstance(service.failed, NoStartingOffset)
        with Service(kafka, topic, coordinator.url, topic) as again:
            wait_for(lambda: len(again.seen) == 3)
        assert again.seen == [(0, offset) for offset in range(3)]


def test_a_broker_without_ids_of_topics_tells_of_no_topic_made_anew() -> None:
    logs = Logs(None, ["t"], 0, None)  # type: ignore[arg-type]
    found = [logs.changed({"t": described(number)}) for number in (0, 0, 7, 0, 7, 8)]
    assert found == [[], [], [], [], [], ["t"]]


def test_another_word_for_a_reset_is_refused(consumer_of: Consumers) -> None:
    with pytest.raises(ConfigurationError, match="expected 'earliest', 'latest' or 'error'"):
        consumer_of("t", {"auto.offset.reset": "newest"})
