"""The skewed producer: a history, then live, and on from there after a restart."""

from lockgate_testbed import producer, topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.producer import Feed, Writer

NOW_MS = 1_767_225_600_500  # 2026-01-01T00:00:00.5Z


def stamps(kafka: KafkaBroker, topic: str, partitions: int) -> list[int]:
    return list(producer.stamps(kafka.bootstrap, topic, producer.ends(kafka.bootstrap, topic, partitions)))


def test_a_record_is_due_when_it_has_been_late_for_as_long_as_its_partition_is() -> None:
    feed = Feed("t", 0, (100, 100), (0, 250))
    assert list(feed.due(0, 1_000, 1, 1_200)) == [(1_100, 1), (1_200, 2)]
    assert list(feed.due(1, 1_000, 0, 1_249)) == []
    assert list(feed.due(1, 1_000, 0, 1_350)) == [(1_000, 0), (1_100, 1)]


def test_the_history_is_written_first_and_then_what_becomes_due(kafka: KafkaBroker, topic: str) -> None:
    writer = Writer(kafka.bootstrap, Feed(topic, 10_000, (500, 2_000), (0, 3_000)), NOW_MS)
    writer.write(NOW_MS)
    assert stamps(kafka, topic, 2) == [
        *range(NOW_MS - 10_000, NOW_MS + 1, 500),
        *range(NOW_MS - 10_000, NOW_MS - 3_000 + 1, 2_000),
    ]
    assert writer.written == 21 + 4
    writer.write(NOW_MS + 999)
    assert producer.ends(kafka.bootstrap, topic, 2) == [21 + 1, 4]
    writer.write(NOW_MS + 1_000)
    assert producer.ends(kafka.bootstrap, topic, 2) == [21 + 2, 4 + 1]


def test_a_producer_that_comes_back_goes_on_where_it_stopped(kafka: KafkaBroker, topic: str) -> None:
    feed = Feed(topic, 1_000, (100,), (0,))
    Writer(kafka.bootstrap, feed, NOW_MS).write(NOW_MS)
    Writer(kafka.bootstrap, feed, NOW_MS + 777).write(NOW_MS + 777)
    assert stamps(kafka, topic, 1) == list(range(NOW_MS - 1_000, NOW_MS + 777, 100))


def test_counts_are_of_minutes_over_all_partitions(kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(
        kafka.bootstrap,
        topic,
        [(partition, NOW_MS + s * 1_000, None, b"") for partition, s in ((0, 0), (1, 59), (1, 60), (0, 180))],
    )
    assert producer.counts(kafka.bootstrap, topic) == {
        "2026-01-01T00:00:00Z": 2,
        "2026-01-01T00:01:00Z": 1,
        "2026-01-01T00:03:00Z": 1,
    }
