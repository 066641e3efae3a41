"""No record above the ceiling goes out, counted on a real Kafka; and all of them do in the end."""

import random
from collections.abc import Callable

import pytest
from confluent_kafka import Message

from lockgate_reader import AlignedConsumer, Duration, WatermarkStrategy
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

MINUTE = 60_000
T0 = 1_767_225_600_000

pytestmark = pytest.mark.kafka


def skewed(kafka: KafkaBroker, topic: str, counts: list[int], span_ms: int = 60 * MINUTE) -> int:
    """Partitions that cover the same span with different densities; returns how many records."""
    topics.create(kafka.bootstrap, topic, len(counts))
    records = [
        (partition, T0 + number * span_ms // count, None, b"%d" % number)
        for partition, count in enumerate(counts)
        for number in range(count)
    ]
    topics.produce(kafka.bootstrap, topic, records)
    return len(records)


@pytest.mark.parametrize("drift_ms", [1, 10_000, 5 * MINUTE])
def test_no_record_is_above_the_lowest_next_one_and_the_drift(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer], drift_ms: int
) -> None:
    counts = [20, 200, 2_000, 5_000]
    total = skewed(kafka, topic, counts)
    left = {
        partition: [T0 + number * 60 * MINUTE // count for number in range(count)][::-1]
        for partition, count in enumerate(counts)
    }
    overshoot = 0
    for record in consumer_of(topic, max_drift=drift_ms, ending_offsets="latest"):
        lowest = min(times[-1] for times in left.values() if times)
        overshoot += record.timestamp()[1] > lowest - 1 + drift_ms
        assert left[record.partition()].pop() == record.timestamp()[1], "in the order of the offsets"
        total -= 1
    assert (overshoot, total) == (0, 0)


def test_the_ceiling_at_the_moment_of_each_record_is_never_below_it(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    total = skewed(kafka, topic, [50, 3_000])
    consumer = consumer_of(topic, max_drift="2 minutes", ending_offsets="latest")
    above = 0
    for record in consumer:
        above += record.timestamp()[1] > consumer.status().read_limit
        total -= 1
    assert (above, total) == (0, 0)


def test_records_out_of_order_are_read_and_none_is_late_by_the_strategy(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    rng = random.Random(7)
    topics.create(kafka.bootstrap, topic, 3)
    times = {part: [T0 + n * 500 + rng.randrange(4_000) for n in range(1_000)] for part in range(3)}
    topics.produce(kafka.bootstrap, topic, [(p, t, None, b"v") for p, each in times.items() for t in each])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(seconds=5))
    consumer = consumer_of(topic, max_out_of_orderness=strategy, max_drift="20 seconds", ending_offsets="latest")
    late = count = 0
    for record in consumer:
        late += record.timestamp()[1] <= consumer.watermark
        count += 1
    assert (late, count) == (0, 3_000)


def test_a_gap_that_is_wider_than_the_drift_is_crossed(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    gap = 24 * 60 * MINUTE
    topics.produce(kafka.bootstrap, topic, [(p, T0 + n * gap, None, b"v") for n in range(4) for p in (0, 1)])

    times = [r.timestamp()[1] for r in consumer_of(topic, max_drift="1 minute", ending_offsets="latest")]

    assert times == sorted(times)
    assert len(times) == 8


def test_a_drift_below_the_disorder_of_a_strategy_still_reads_everything(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    total = skewed(kafka, topic, [30, 300])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(seconds=600))

    consumer = consumer_of(topic, max_out_of_orderness=strategy, max_drift="1 second", ending_offsets="latest")
    assert sum(1 for _ in consumer) == total


def test_a_strategy_that_emits_by_event_is_aligned_too(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    total = skewed(kafka, topic, [30, 300])
    strategy = WatermarkStrategy.for_punctuated(lambda record, timestamp: timestamp)
    consumer = consumer_of(topic, max_out_of_orderness=strategy, max_drift="2 minutes", ending_offsets="latest")
    late = 0
    for record in consumer:
        late += record.timestamp()[1] <= consumer.watermark
        total -= 1
    assert (late, total) == (0, 0)


def test_event_time_may_be_a_function_of_the_record(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    own = [(p, 1, None, b"%d" % (T0 + n * (p + 1) * MINUTE)) for p in (0, 1) for n in range(100)]
    topics.produce(kafka.bootstrap, topic, own)
    seen: dict[int, int] = {0: T0, 1: T0}
    asked = list[int]()

    def event_time(record: Message) -> int:
        asked.append(int(record.value() or 0))
        return asked[-1]

    overshoot = 0
    for record in consumer_of(topic, event_time=event_time, max_drift="10 minutes", ending_offsets="latest"):
        seen[record.partition()] = int(record.value())
        overshoot += seen[1] - seen[0] > 11 * MINUTE and seen[0] < T0 + 99 * MINUTE
    assert overshoot == 0
    assert seen == {0: T0 + 99 * MINUTE, 1: T0 + 198 * MINUTE}
    assert sorted(asked) == sorted(int(value) for *_, value in own)  # once for each record, also at the ends
