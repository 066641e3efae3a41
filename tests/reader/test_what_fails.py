"""What a consumer does where Kafka, its program or its lease fails it: nothing is passed over, and
nothing is kept that is another reader's.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from math import inf
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import PartitionMetadata, TopicMetadata

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate_http.errors import KafkaFailed
from lockgate_reader import AlignedConsumer
from lockgate_reader import kafka as kafka_module
from lockgate_reader.kafka import KafkaClient
from lockgate_reader.place import AssignedSplit, Orders, Place, ReaderSplit, ReaderState
from lockgate_reader.reading.reader import RunningReader
from lockgate_reader.reading.split import OpenSplit
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.services import filled

Consumers = Callable[..., AlignedConsumer]

pytestmark = pytest.mark.kafka

COMMITS_AT_THE_END = {"enable.auto.commit": True, "auto.commit.interval.ms": 86_400_000}
LOOKS_OFTEN = {"topic.metadata.refresh.interval.ms": 100}


class Giving(Place):
    """A place that gives partition 0 of a topic under a number; 0: it gives none. `heard`: the last
    state. `until`: the deadline of what it says.
    """

    def __init__(self, topic: str) -> None:
        self.number, self.until = 1, inf
        self.give_back: frozenset[str] = frozenset()
        self.heard, self.left = ReaderState(), False
        self._split = KafkaPartitionSplit(topic, 0)

    def exchange(self, state: ReaderState) -> Orders:
        self.heard = state
        given = (AssignedSplit(self._split, self.number),) if self.number else ()
        return Orders(assigned=given, until=self.until, give_back=self.give_back)

    def leave(self, state: ReaderState) -> None:
        self.left = True


def in_its_place(consumer: AlignedConsumer, topic: str) -> Giving:
    place = Giving(topic)
    consumer._place = lambda: place  # type: ignore[method-assign]
    return place


def reader_of(consumer: AlignedConsumer) -> RunningReader:
    assert consumer._reader is not None
    return consumer._reader


def committed(kafka: KafkaBroker, topic: str) -> int:
    there = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic})
    try:
        return int(there.committed([TopicPartition(topic, 0)])[0].offset)
    finally:
        there.close()


class FailsAt:
    """Event times of records, but for the one at this offset."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def __call__(self, record: Message) -> int:
        assert record.offset() != self.offset
        return int(record.timestamp()[1])


def test_a_consumer_whose_last_commit_fails_leaves_its_place_all_the_same(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(kafka, topic, [3])
    consumer = consumer_of(topic, {"group.id": topic, **COMMITS_AT_THE_END})
    place = in_its_place(consumer, topic)
    next(iter(consumer))

    def refuses(positions: object, *, wait: bool) -> None:
        raise KafkaFailed("the broker is away")

    monkeypatch.setattr(reader_of(consumer).client, "commit", refuses)
    with pytest.raises(KafkaFailed, match="the broker is away"):
        consumer.close()
    assert place.left


def test_an_error_of_a_fetch_comes_again_so_no_record_is_passed_over(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10])
    event_time = FailsAt(3)
    consumer = consumer_of(topic, event_time=event_time, ending_offsets="latest")
    with pytest.raises(AssertionError):
        list(consumer)
    event_time.offset = -1
    with pytest.raises(AssertionError):
        list(consumer)


def test_rows_of_a_batch_that_was_never_handed_out_are_not_committed(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [900], step_ms=1)
    consumer = consumer_of(topic, {"group.id": topic, **COMMITS_AT_THE_END}, event_time=FailsAt(800))
    worked_on = 0

    def program() -> None:
        nonlocal worked_on
        for batch in consumer.batches(900):
            worked_on += batch.num_rows

    with pytest.raises(AssertionError):
        program()
    consumer.close()
    assert worked_on <= 800
    assert consumer.positions() == {(topic, 0): worked_on}


def test_batch_that_is_ready_after_the_deadline_is_given_back(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [60], step_ms=1)
    consumer = consumer_of(topic)
    place = in_its_place(consumer, topic)
    place.until = 5.0
    batches = consumer.batches(10)
    clock: Iterator[float] = iter(())
    now = 1.0

    def lease_s() -> float:
        return next(clock, now)

    consumer._open().lease_s = lease_s
    worked_on = sum(next(batches).num_rows for _ in range(3))
    clock, now = iter([1.0]), 9.0  # the process is stopped in the middle of a batch
    exchange = place.exchange

    def over(state: ReaderState) -> Orders:
        if state.returned:
            consumer.stop()
        return exchange(state)

    place.exchange = over  # type: ignore[method-assign]
    assert next(batches, None) is None
    assert [each.split.starting_offset for each in place.heard.returned] == [worked_on]


def test_a_split_that_another_reader_has_is_not_committed(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [5])
    consumer = consumer_of(topic, {"group.id": topic})
    place = in_its_place(consumer, topic)
    records = iter(consumer)
    for _ in range(3):
        next(records)
    assert consumer.positions() == {(topic, 0): 3}
    place.number = 0
    reader_of(consumer).turn()
    assert consumer.positions() == {}
    consumer.commit()
    assert committed(kafka, topic) < 0


def test_a_split_that_goes_before_it_was_opened_is_given_back_from_its_start(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [5])
    consumer = consumer_of(topic)
    place = in_its_place(consumer, topic)
    place.give_back = frozenset({f"{topic}-0"})
    consumer._open().turn()
    assert place.heard.returned == (ReaderSplit(KafkaPartitionSplit(topic, 0), 1, idle=True),)
    assert not place.heard.held


def test_a_split_that_goes_leaves_nothing_behind(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic, [5])
    consumer = consumer_of(topic)
    place = in_its_place(consumer, topic)
    next(iter(consumer))
    reader = reader_of(consumer)
    reader.end_piece()
    for number in range(2, 6):
        place.number = number
        reader.turn()
    gc.collect()
    assert [each.number for each in gc.get_objects() if isinstance(each, OpenSplit) and each.key[0] == topic] == [5]


def test_a_commit_that_nobody_waited_for_is_known_when_it_fails(kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    kafka_client = KafkaClient({"bootstrap.servers": kafka.bootstrap, "group.id": topic})
    kafka_client.commit({(topic, 99): 1}, wait=False)
    assert kafka_client.committed_last == {(topic, 99): 1}
    wait_for(lambda: bool(kafka_client.fetch(1, 0.1)) or not kafka_client.committed_last)
    kafka_client.close()


def test_a_look_for_partitions_that_is_not_answered_ends_no_reader(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(kafka, topic, [2])
    consumer = consumer_of(topic, LOOKS_OFTEN)
    assert next(iter(consumer)).offset() == 0
    looks = list[str]()
    partitions = reader_of(consumer).client.partitions

    def away(topics: Iterable[str], *, led: bool = False) -> list[tuple[str, int]]:
        looks.append("away")
        raise KafkaFailed("the broker is away")

    monkeypatch.setattr(reader_of(consumer).client, "partitions", away)
    wait_for(lambda: reader_of(consumer).turn() or len(looks) > 1)
    monkeypatch.setattr(reader_of(consumer).client, "partitions", partitions)
    assert next(iter(consumer)).offset() == 1


def test_first_list_of_partitions_has_also_those_without_a_leader(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(kafka, topic, [2])
    asked = list[bool]()
    partitions = KafkaClient.partitions

    def listed(client: KafkaClient, topics: Iterable[str], *, led: bool = False) -> list[tuple[str, int]]:
        asked.append(led)
        return partitions(client, topics, led=led)

    monkeypatch.setattr(KafkaClient, "partitions", listed)
    consumer = consumer_of(topic, LOOKS_OFTEN)
    next(iter(consumer))
    wait_for(lambda: reader_of(consumer).turn() or len(asked) > 1)
    assert asked[:2] == [False, True]


def test_a_broker_that_is_away_from_the_beginning_is_an_error(
    topic: str, consumer_of: Consumers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_module, "CALL_S", 0.1)
    with pytest.raises(KafkaFailed, match=f"did not list topic '{topic}'"):
        next(iter(consumer_of(topic, {"bootstrap.servers": "127.0.0.1:9"})))


def test_follower_that_lags_behind_its_leader_is_read_again_later(caplog: pytest.LogCaptureFixture) -> None:
    kafka_client = KafkaClient({"bootstrap.servers": "127.0.0.1:9", "client.rack": "a"})
    lags = Message(topic="t", partition=0, offset=5, error=KafkaError(KafkaError.OFFSET_NOT_AVAILABLE))
    assert not kafka_client.is_lost(lags)
    assert "cannot read t-0 for now" in caplog.text
    kafka_client.close()


def test_list_leaves_out_partitions_without_a_leader_only_if_asked() -> None:
    topic = TopicMetadata()
    for partition, leader in ((0, 1), (1, -1), (2, 1)):
        each = PartitionMetadata()
        each.id, each.leader = partition, leader
        topic.partitions[partition] = each
    listed = SimpleNamespace(topics={"t": topic})
    client = KafkaClient({"bootstrap.servers": "127.0.0.1:9"})
    client._consumer = SimpleNamespace(list_topics=lambda name, timeout: listed)  # type: ignore[assignment]
    assert client.partitions(["t"]) == [("t", 0), ("t", 1), ("t", 2)]
    assert client.partitions(["t"], led=True) == [("t", 0), ("t", 2)]
