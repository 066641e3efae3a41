"""Where a consumer begins: by offsets and by timestamp, alone and in a group; several topics."""

from collections.abc import Callable, Iterator
from datetime import datetime, timezone

import pytest

from lockgate_reader import AlignedConsumer, ConfigurationError, NoStartingOffset
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.services import T0, Service, filled, make_group, positions_of

Consumers = Callable[..., AlignedConsumer]

pytestmark = pytest.mark.kafka


def at_ms(after: int) -> datetime:
    """So many ms after `T0`."""
    return datetime.fromtimestamp((T0 + after) / 1_000, timezone.utc)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


def test_timestamp_begins_at_its_first_record_or_at_the_end(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10, 5, 0])
    consumer = consumer_of(topic, starting_offsets=at_ms(6_500), ending_offsets="latest")
    assert [(record.partition(), record.offset()) for record in consumer] == [(0, 7), (0, 8), (0, 9)]
    assert consumer.positions()[topic, 1] == 5


def test_offsets_begin_there_and_other_partitions_where_their_user_says(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [5, 5])
    starts = {(topic, 0): 3}
    reset = {"auto.offset.reset": "latest"}
    consumer = consumer_of(topic, reset, starting_offsets=starts, ending_offsets="latest")
    assert [(record.partition(), record.offset()) for record in consumer] == [(0, 3), (0, 4)]
    with pytest.raises(NoStartingOffset, match=rf"starting_offsets has nothing for {topic}-1: set"):
        next(iter(consumer_of(topic, starting_offsets=starts)))


@pytest.mark.parametrize("option", [{"starting_offsets": at_ms(3_000)}, {"starting_offsets": {("", 0): 3, ("", 1): 3}}])
def test_the_readers_of_a_group_begin_where_the_first_one_was_told(
    kafka: KafkaBroker, topic: str, url: str, option: dict[str, object]
) -> None:
    filled(kafka, topic, [8, 8])
    make_group(url, topic)
    if isinstance(starts := option.get("starting_offsets"), dict):
        option = {"starting_offsets": {(topic, partition): offset for (_, partition), offset in starts.items()}}
    with Service(kafka, topic, url, topic, **{"starting_offsets": "committed", **option}) as service:
        wait_for(lambda: len(service.seen) == 10)
        wait_for(lambda: positions_of(url, topic) == {f"{topic}-0": 8, f"{topic}-1": 8})
    assert sorted(service.seen) == [(partition, offset) for partition in (0, 1) for offset in range(3, 8)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"starting_offsets": datetime.now(timezone.utc).replace(tzinfo=None)}, "a datetime with its time zone"),
        ({"starting_offsets": {("t", 0): -1}}, "an offset of 0 or more for each partition"),
        ({"starting_offsets": {"t": 1}}, "an offset of 0 or more for each partition"),
        ({"starting_offsets": {("orders", 0): 3}}, "topic 'orders' is not read; the topics are t$"),
        ({"starting_offsets": ["earliest"]}, "expected 'committed', 'earliest', 'latest', a datetime, or"),
        ({"starting_offsets": "newest"}, "expected 'committed', 'earliest', 'latest', a datetime, or"),
    ],
)
def test_a_beginning_that_is_none_is_refused(consumer_of: Consumers, options: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        consumer_of("t", **{"starting_offsets": "committed", **options})


def test_the_splits_of_several_topics_wait_for_each_other(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    dense, sparse = f"{topic}-dense", f"{topic}-sparse"
    filled(kafka, dense, [600, 600], step_ms=100)
    filled(kafka, sparse, [60])
    left = {(dense, 0): 600, (dense, 1): 600, (sparse, 0): 60}
    overshoot = 0
    for record in consumer_of([dense, sparse], max_drift="5 seconds", ending_offsets="latest"):
        key = str(record.topic()), int(record.partition() or 0)
        left[key] -= 1
        following = [T0 + (60 - left[sparse, 0]) * 1_000, *(T0 + (600 - left[dense, p]) * 100 for p in (0, 1))]
        lowest = min([record.timestamp()[1], *(at for at in following if at < T0 + 60_000)])
        overshoot += record.timestamp()[1] > lowest + 5_000
    assert (overshoot, set(left.values())) == (0, {0})


def test_a_batch_names_the_topic_of_each_record(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    names = [f"{topic}-one", f"{topic}-two"]
    for name in names:
        filled(kafka, name, [30])
    found = [
        (row["topic"], row["offset"])
        for batch in consumer_of(names, ending_offsets="latest").batches()
        for row in batch.to_pylist()
    ]
    assert sorted(found) == [(name, offset) for name in names for offset in range(30)]


def test_two_readers_of_a_group_share_the_splits_of_two_topics(kafka: KafkaBroker, topic: str, url: str) -> None:
    names = [f"{topic}-one", f"{topic}-two"]
    for name in names:
        filled(kafka, name, [50, 50])
    make_group(url, topic, max_drift_ms=600_000)
    with Service(kafka, names, url, topic) as first, Service(kafka, names, url, topic) as second:
        wait_for(lambda: len(first.seen) + len(second.seen) == 200)
        wait_for(lambda: [len(each.status.splits) for each in (first, second)] == [2, 2])
    assert positions_of(url, topic) == {f"{name}-{partition}": 50 for name in names for partition in (0, 1)}
