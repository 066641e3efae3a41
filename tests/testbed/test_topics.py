from confluent_kafka import Consumer, Message, TopicPartition

from lockgate_testbed import producer, topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic, payload


def test_a_loaded_topic_holds_exactly_what_its_spec_says(kafka: KafkaBroker, topic: str) -> None:
    spec = SkewedTopic(topic, weights=(1, 1, 2, 8), records=10_000, empty=True, late_start_hours=6)
    told: list[int] = []

    topics.load(kafka.bootstrap, spec, told.append)

    for partition, count in enumerate(spec.counts()):
        held = read(kafka, topic, partition)
        assert [message.timestamp()[1] for message in held] == [
            spec.event_time(partition, offset) for offset in range(count)
        ]
        assert all(payload(message.value()).event_time_ms == message.timestamp()[1] for message in held)
        assert {len(message.value()) for message in held} <= {spec.value_bytes}
    assert told[-1] == spec.records


def test_every_record_of_a_loaded_topic_has_a_number_of_its_own(kafka: KafkaBroker, topic: str) -> None:
    spec = SkewedTopic(topic, weights=(1, 2), records=300)

    topics.load(kafka.bootstrap, spec)

    numbers = [payload(message.value()).seq for partition in (0, 1) for message in read(kafka, topic, partition)]
    assert numbers == list(range(300))


def test_records_are_kept_in_order_with_any_timestamp(kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    far_ahead = 4_102_444_800_000  # 2100: a stock broker would refuse it

    topics.produce(
        kafka.bootstrap, topic, [(1, far_ahead, "k", "first"), (0, 0, None, "other"), (1, 1, None, "second")]
    )

    assert [(message.value(), message.timestamp()[1]) for message in read(kafka, topic, 1)] == [
        (b"first", far_ahead),
        (b"second", 1),
    ]
    assert [message.value() for message in read(kafka, topic, 0)] == [b"other"]


def test_a_deleted_topic_can_be_created_again(kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 0, None, "old")])

    topics.delete(kafka.bootstrap, topic)
    topics.create(kafka.bootstrap, topic, 1)

    assert read(kafka, topic, 0) == []


def read(kafka: KafkaBroker, topic: str, partition: int) -> list[Message]:
    """All that a partition holds now."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "test", "enable.auto.commit": False})
    try:
        start = TopicPartition(topic, partition, 0)
        end = producer.ends(kafka.bootstrap, topic, partition + 1)[
            partition
        ]  # which waits where nobody leads a new partition yet
        consumer.assign([start])
        messages: list[Message] = []
        while len(messages) < end:
            messages += consumer.consume(end - len(messages), timeout=30)
        return messages
    finally:
        consumer.close()
