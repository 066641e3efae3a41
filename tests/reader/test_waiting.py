"""What a split waits for: records of the others, Kafka, the clock; what is fetched meanwhile."""

import json
from collections.abc import Callable
from itertools import islice
from threading import Timer

import pytest

from lockgate_reader import AlignedConsumer, Duration, WatermarkStrategy
from lockgate_reader.prometheus import ReaderCollector
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

Consumers = Callable[..., AlignedConsumer]
T0 = 1_767_225_600_000

pytestmark = pytest.mark.kafka


def test_a_split_that_is_far_ahead_is_paused_and_fetched_about_once(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    counts = (200_000, 40)
    topics.fill(kafka.bootstrap, topic, [[(T0 + n * 3_600_000 // count, n) for n in range(count)] for count in counts])
    fetched: list[int] = []
    settings = {"statistics.interval.ms": 50, "stats_cb": lambda text: fetched.append(json.loads(text)["rxmsgs"])}
    consumer = consumer_of(topic, settings, max_drift="1 minute", ending_offsets="latest")
    most_kept = total = 0
    for total, _ in enumerate(consumer, 1):
        if total % 1_000 == 0:
            most_kept = max(most_kept, int(consumer.metrics()["kept_records"]))
    assert total == sum(counts)
    assert most_kept <= 52_000, "half of what may be kept, and one fetch"
    assert fetched[-1] <= 1.35 * total


def test_ended_split_holds_others_only_as_long_as_its_producer_may_lag(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 3)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n * 60_000, None, b"v") for n in range(100)])
    topics.produce(kafka.bootstrap, topic, [(1, T0, None, b"v")])
    consumer = consumer_of(topic, max_drift="1 minute")
    assert len(list(islice(consumer, 101))) == 101, "split 2 is empty, split 1 is at its end"


def test_split_without_event_times_holds_nobody_once_it_is_read(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"stamped") for n in range(10)])
    topics.produce(kafka.bootstrap, topic, [(1, T0 + n, None, b"not") for n in range(5)])
    consumer = consumer_of(
        topic,
        max_out_of_orderness=WatermarkStrategy.for_monotonous_timestamps(),
        event_time=lambda record: record.timestamp()[1] if record.value() == b"stamped" else None,
    )
    stops = Timer(60, consumer.stop)
    stops.start()
    assert len(list(islice(consumer, 15))) == 15
    stops.cancel()


def test_a_strategy_without_idleness_waits_for_an_empty_split_and_says_so(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(10)])
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    consumer = consumer_of(topic, max_out_of_orderness=strategy)
    said: list[str] = []

    def look() -> None:
        said.append(consumer.status().waits_for)
        consumer.stop()

    Timer(1.5, look).start()
    assert list(consumer) == []
    assert said == [f"the first record of {topic}-1"]


def test_a_strategy_with_idleness_reads_on_without_an_empty_split(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(10)])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of(ms=300))
    consumer = consumer_of(topic, max_out_of_orderness=strategy)
    assert len(list(islice(consumer, 10))) == 10
    assert [split.split.partition for split in consumer.status().splits if split.watermark > T0 + 10] == [1]


def test_a_program_that_is_slow_makes_no_split_idle(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(p, T0 + n, None, b"v") for n in range(40) for p in (0, 1)])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of(ms=50))
    consumer = consumer_of(topic, max_out_of_orderness=strategy, ending_offsets="latest", max_drift="5 milliseconds")
    at = {0: T0, 1: T0}
    apart = 0
    for record in consumer:
        pause = Timer(0.02, lambda: None)  # the program's work
        pause.start()
        pause.join()
        at[record.partition()] = record.timestamp()[1]
        apart = max(apart, abs(at[0] - at[1]))
    assert apart <= 6


def test_metrics_and_status_agree_on_what_is_paused(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n * 60_000, None, b"v") for n in range(10)])
    topics.produce(kafka.bootstrap, topic, [(1, T0 + n * 1_000, None, b"v") for n in range(10)])
    consumer = consumer_of(topic, max_drift="5 seconds")
    seen = list(islice(consumer, 5))
    status, metrics = consumer.status(), consumer.metrics()
    assert metrics["records_total"] == len(seen)
    assert metrics["paused_partitions"] == sum(split.paused for split in status.splits)
    assert metrics["partitions"] == len(status.splits) == 2
    collector = ReaderCollector({"mine": consumer})
    families = {sample.name: sample.value for family in collector.collect() for sample in family.samples}
    assert families == {f"lockgate_reader_{name}": number for name, number in metrics.items()}
    assert status.sentence.startswith("The consumer reads up to 2026-01-01T00:00:0")
