"""Readers whose splits Kafka's own consumer group assigns, in one alignment group."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from threading import Event

import httpx
import pytest

from lockgate_reader import AlignedConsumer, ConfigurationError
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.http_readers import HttpReader
from support.services import T0, Service, committed_of, filled, make_group

Consumers = Callable[..., AlignedConsumer]

pytestmark = pytest.mark.kafka

FROM_KAFKA = {"partitions": "kafka", "starting_offsets": "committed"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


def settings(topic: str) -> dict[str, object]:
    """Of Kafka's group of this name; a member that died is missed after 6 s."""
    return {"group.id": topic, "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}


def service(kafka: KafkaBroker, topic: str, url: str, **options: object) -> Service:
    return Service(kafka, topic, url, topic, settings=settings(topic), **FROM_KAFKA, **options)


def everything(partitions: int, each: int) -> set[tuple[int, int]]:
    return {(partition, offset) for partition in range(partitions) for offset in range(each)}


def states(url: str, group: str) -> dict[str, str]:
    """What the coordinator shows of the splits of the first reader."""
    answer = httpx.get(f"{url}/v1/groups/{group}/sources/enrich", timeout=60).json()
    return {name: split["state"] for name, split in answer["readers"][0]["splits"].items()}


def test_two_processes_share_the_partitions_and_repeat_no_record(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [400] * 4)
    make_group(url, topic)
    in_haste = Event()
    with service(kafka, topic, url, work=lambda record: in_haste.wait(0.01)) as first:
        wait_for(lambda: len(first.seen) > 20)
        with service(kafka, topic, url) as second:
            wait_for(lambda: [len(each.status.splits) for each in (first, second)] == [2, 2])
            in_haste.set()
            wait_for(lambda: len(first.seen) + len(second.seen) >= 1_600)
        wait_for(lambda: len(first.status.splits) == 4)
    assert Counter(first.seen + second.seen) == Counter(everything(4, 400))
    assert committed_of(kafka, topic, range(4)) == [400] * 4


def test_partitions_assigned_during_close_are_not_opened(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [3])
    consumer = consumer_of(topic, settings(topic), **FROM_KAFKA)
    next(iter(consumer))
    reader = consumer._reader
    assert reader is not None
    consumer.close()
    reader._on_assigned([(topic, 0)])  # as Kafka's client does if a rebalance ends while it closes
    assert [split.number for split in reader.assignment.splits.values()] == [1]


def test_reader_waits_at_the_limit_of_its_alignment_group(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [60])
    make_group(url, topic, max_drift_ms=10_000)
    behind = HttpReader(url, topic, "behind")
    behind.report(T0 - 1)
    with service(kafka, topic, url) as reader:
        wait_for(lambda: len(reader.seen) == 10)
        wait_for(lambda: reader.status.waits_for == "reader behind/0")
        wait_for(lambda: states(url, topic) == {f"{topic}-0": "paused"})
        behind.report(T0 + 86_400_000)
        wait_for(lambda: len(reader.seen) == 60)


PROGRAM = """
import sys
from lockgate_reader import AlignedConsumer, Coordinator
bootstrap, topic, url = sys.argv[1:]
kafka = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
kafka |= {"session.timeout.ms": 6_000, "auto.commit.interval.ms": 100}
shop = Coordinator(url, group=topic, source="enrich")
with AlignedConsumer(topic, kafka=kafka, coordinator=shop, partitions="kafka") as consumer:
    for record in consumer:
        print(record.partition(), record.offset(), flush=True)
"""


def test_partitions_of_a_killed_process_are_read_by_another_one(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [500] * 3)
    make_group(url, topic, lease_ms=3_000)
    killed = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kafka.bootstrap, topic, url], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None
    first = [(int(partition), int(offset)) for partition, offset in (killed.stdout.readline().split() for _ in "123")]
    with service(kafka, topic, url) as other:
        killed.kill()
        first += [(int(partition), int(offset)) for partition, offset in map(str.split, killed.stdout.readlines()[:-1])]
        killed.wait(60)
        wait_for(lambda: {*first, *other.seen} >= everything(3, 500))
    assert max(Counter(other.seen).values()) == 1


def test_position_that_the_program_returns_is_where_a_split_begins(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [5, 5])
    consumer = consumer_of(
        topic,
        settings(topic),
        on_assigned=lambda splits: {(topic, 1): 3},
        **FROM_KAFKA,
    )
    records = iter(consumer)
    seen = sorted((r.partition(), r.offset()) for r in (next(records) for _ in range(7)))
    assert seen == [(0, n) for n in range(5)] + [(1, 3), (1, 4)]
    consumer.close()
    assert committed_of(kafka, topic, range(2)) == [5, 5]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"partitions": "mine"}, "expected 'kafka', or None"),
        ({"starting_offsets": "earliest"}, "begins at its committed offsets and has no end"),
        ({"ending_offsets": "latest"}, "begins at its committed offsets and has no end"),
        ({"kafka_settings": {}}, "'committed' needs a group.id"),
        ({"kafka_settings": {"group.id": "g", "partition.assignment.strategy": "range"}}, "'cooperative-sticky'"),
    ],
)
def test_option_that_kafkas_group_does_not_allow_is_refused(
    consumer_of: Consumers, options: dict[str, object], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        consumer_of("t", **{"kafka_settings": {"group.id": "g"}, **FROM_KAFKA, **options})
