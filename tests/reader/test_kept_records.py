"""Records of a kind: transactions, compaction, no time, 2099; what is committed, and where."""

from collections.abc import Callable
from threading import Timer

import pytest
from confluent_kafka import Consumer, TopicPartition

from lockgate_reader import AlignedConsumer, ConfigurationError, KafkaFailed, NoStartingOffset
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.transactions import send_to, transactional

Consumers = Callable[..., AlignedConsumer]
T0 = 1_767_225_600_000
Y2099 = 4_070_908_800_000
COMMITS_AT_THE_END = {"enable.auto.commit": True, "auto.commit.interval.ms": 86_400_000}

pytestmark = pytest.mark.kafka


def test_read_committed_passes_over_markers_and_aborted_records(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    producer = transactional(kafka, topic, 2)
    for turn in range(6):
        producer.begin_transaction()
        send_to(producer, topic, 0, [T0 + turn * 10_000 + n for n in range(5)])
        send_to(producer, topic, 1, [T0 + turn * 10_000 + n for n in range(5)])
        if turn % 2:
            producer.abort_transaction(10)
        else:
            producer.commit_transaction(10)
    consumer = consumer_of(topic, {"isolation.level": "read_committed"}, max_drift="5 seconds", ending_offsets="latest")
    assert sorted(record.timestamp()[1] for record in consumer) == sorted(
        2 * [T0 + turn * 10_000 + n for turn in (0, 2, 4) for n in range(5)]
    )


def test_an_open_transaction_holds_the_other_splits(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    producer = transactional(kafka, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, T0, None, b"v"), (0, T0 + 60_000, None, b"v")])
    producer.begin_transaction()
    send_to(producer, topic, 1, [T0])
    consumer = consumer_of(topic, {"isolation.level": "read_committed"}, max_drift="5 seconds")
    records = iter(consumer)
    Timer(1.0, producer.commit_transaction, (10,)).start()
    seen = [(r.partition(), r.timestamp()[1] - T0) for r in (next(records), next(records), next(records))]
    assert sorted(seen) == [(0, 0), (0, 60_000), (1, 0)]
    assert seen[-1] == (0, 60_000)


def test_gaps_of_compaction_are_no_loss(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    config = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    topics.create(kafka.bootstrap, topic, 1, config)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, b"%d" % (n % 7), b"%d" % n) for n in range(200)])
    topics.produce(kafka.bootstrap, topic, [(0, T0 + 1_000 + n, b"last-%d" % n, b"v") for n in range(3)])
    consumer = consumer_of(topic, ending_offsets="latest")
    keys = {record.key() for record in consumer}
    assert keys == {b"%d" % n for n in range(7)} | {b"last-0", b"last-1", b"last-2"}


def test_records_of_2099_or_without_a_time_go_with_their_neighbours(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    bad = {5: Y2099, 7: -1}
    records = [(p, bad.get(n, T0 + n * 1_000), None, b"%d" % n) for n in range(30) for p in (0, 1)]
    topics.produce(kafka.bootstrap, topic, records)
    consumer = consumer_of(topic, max_drift="3 seconds", ending_offsets="latest")
    at = {0: 0, 1: 0}
    apart = 0
    for record in consumer:
        at[record.partition()] = int(record.value() or b"")
        apart = max(apart, abs(at[0] - at[1]))
    assert at == {0: 29, 1: 29}
    assert apart <= 5
    assert consumer.metrics()["left_out_total"] == 4


def test_a_topic_that_is_missing_is_named(topic: str, consumer_of: Consumers) -> None:
    with pytest.raises(KafkaFailed, match=f"has no topic '{topic}' for this client .*: create it"):
        next(iter(consumer_of(topic)))


def test_what_was_committed_is_where_the_next_consumer_begins(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(10)])
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    first = consumer_of(topic, group, starting_offsets="committed")
    for record in first:
        if record.offset() == 3:
            break
    first.commit()
    first.close()
    assert next(iter(consumer_of(topic, group, starting_offsets="committed"))).offset() == 4


def test_auto_commit_leaves_out_the_present_record(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(6)])
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = consumer_of(topic, {**group, **COMMITS_AT_THE_END}, starting_offsets="committed")
    assert [record.offset() for record, _ in zip(consumer, range(4), strict=False)] == [0, 1, 2, 3]
    consumer.close()
    there = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic}).committed([TopicPartition(topic, 0)])
    assert there[0].offset in (4, 5), "zip has taken a fifth one"


def test_record_on_which_the_program_failed_is_not_committed(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(6)])
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = consumer_of(topic, {**group, **COMMITS_AT_THE_END}, starting_offsets="committed")

    def program() -> None:
        with consumer:
            for record in consumer:
                assert record.offset() != 3

    with pytest.raises(AssertionError):
        program()
    assert consumer.positions() == {(topic, 0): 3}
    again = consumer_of(topic, group, starting_offsets="committed")
    assert next(iter(again)).offset() == 0


def test_a_group_that_has_committed_nothing_is_not_guessed(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    with pytest.raises(NoStartingOffset, match=r'has committed nothing for .*-0: set "auto\.offset\.reset"'):
        next(iter(consumer_of(topic, {"group.id": "nobody"}, starting_offsets="committed")))


def test_an_offset_that_kafka_no_longer_has_is_not_passed_over_silently(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    consumer = consumer_of(topic, on_assigned=lambda splits: {(topic, 0): 99})
    with pytest.raises(NoStartingOffset, match=r"Kafka no longer has .*-0 at offset 99"):
        next(iter(consumer))


def test_commit_without_a_group_says_what_is_missing(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0, None, b"v")])
    consumer = consumer_of(topic)
    next(iter(consumer))
    with pytest.raises(ConfigurationError, match=r"commit\(\) needs a group\.id"):
        consumer.commit()
    with pytest.raises(ConfigurationError, match=r"enable\.auto\.commit is set, but nothing is committed"):
        consumer_of(topic, {"enable.auto.commit": True})


def test_a_program_s_own_positions_rule(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(p, T0 + n, None, b"v") for n in range(5) for p in (0, 1)])
    consumer = consumer_of(topic, on_assigned=lambda splits: {(topic, 1): 3}, ending_offsets="latest")
    assert sorted((r.partition(), r.offset()) for r in consumer) == [(0, n) for n in range(5)] + [(1, 3), (1, 4)]
    assert consumer.positions() == {(topic, 0): 5, (topic, 1): 5}
