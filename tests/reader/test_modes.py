"""The modes of the seed, one by one, on a real Kafka; ends, snapshots and restores."""

import threading
from collections.abc import Callable

import pytest

from lockgate.errors import WrongState
from lockgate.watermark import MAX
from lockgate_reader import AlignedConsumer, ConfigurationError, Coordinator, ReaderMode
from lockgate_reader.place import Alone, Place
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.services import T0, filled

Consumers = Callable[..., AlignedConsumer]

pytestmark = pytest.mark.kafka


def test_a_consumer_that_was_not_iterated_is_not_initialised(topic: str, consumer_of: Consumers) -> None:
    consumer = consumer_of(topic)
    assert consumer.status().mode is ReaderMode.NOT_INITIALIZED
    with pytest.raises(WrongState, match=r"call snapshot\(\) after the first record"):
        consumer.snapshot()


def test_a_consumer_with_records_is_reading(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic, [3] * 2)
    consumer = consumer_of(topic)
    next(iter(consumer))
    assert consumer.status().mode is ReaderMode.READING
    assert len(consumer.status().splits) == 2


def test_bounded_splits_end_with_event_time_at_its_end(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic, [50] * 3)
    consumer = consumer_of(topic, ending_offsets="latest")
    assert sum(1 for _ in consumer) == 150
    assert consumer.status().mode is ReaderMode.FINISHED
    assert consumer.watermark == MAX


def test_a_bounded_consumer_of_empty_partitions_ends_at_once(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    assert list(consumer_of(topic, ending_offsets="latest")) == []


def test_records_behind_the_stopping_offset_do_not_go_out(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10])
    consumer = consumer_of(topic, ending_offsets="latest")
    records = iter(consumer)
    first = next(records)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + 99_000, None, b"later")])
    assert [first.offset(), *(record.offset() for record in records)] == list(range(10))


@pytest.mark.parametrize(("drain", "mode", "at_the_end"), [(True, "drained", True), (False, "stopped", False)])
def test_stop_ends_the_iteration_and_drain_ends_event_time(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers, drain: bool, mode: str, at_the_end: bool
) -> None:
    filled(kafka, topic, [20] * 2)
    consumer = consumer_of(topic)
    count = 0
    for _ in consumer:
        count += 1
        if count == 7:
            consumer.stop(drain=drain)
    assert count == 7
    assert consumer.status().mode is ReaderMode(mode)
    assert (consumer.watermark == MAX) is at_the_end


def test_a_stop_from_another_thread_ends_a_consumer_that_waits(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [1])
    consumer = consumer_of(topic)
    records = iter(consumer)
    next(records)
    threading.Timer(0.3, consumer.stop).start()
    assert list(records) == []


def test_snapshot_taken_anywhere_loses_and_repeats_no_record(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [40] * 3)
    seen: list[tuple[int, int]] = []
    state: tuple[bytes, ...] | None = None
    for stop_at in (1, 17, 30, 1_000):
        consumer = consumer_of(topic, max_drift="5 seconds", ending_offsets="latest")
        if state is not None:
            consumer.restore(state)
        for count, record in enumerate(consumer, 1):
            seen.append((record.partition(), record.offset()))
            if count == stop_at:
                state = consumer.snapshot()
                break
        consumer.close()
    assert sorted(seen) == [(partition, offset) for partition in range(3) for offset in range(40)]
    assert len(set(seen)) == len(seen)


def test_finished_split_is_not_read_again_from_a_snapshot(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [3, 40])
    consumer = consumer_of(topic, max_drift="5 seconds", ending_offsets="latest")
    seen = []
    for record in consumer:
        seen.append((record.partition(), record.offset()))
        if record.offset() == 20:
            break
    assert (0, 2) in seen
    restored = consumer_of(topic, max_drift="5 seconds", ending_offsets="latest")
    restored.restore(consumer.snapshot())
    seen += [(record.partition(), record.offset()) for record in restored]
    assert sorted(seen) == [(0, offset) for offset in range(3)] + [(1, offset) for offset in range(40)]
    at_its_end = consumer_of(topic, ending_offsets="latest")
    at_its_end.restore(restored.snapshot())
    assert list(at_its_end) == []


def test_a_restored_split_is_not_read_from_the_option_s_start(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10])
    consumer = consumer_of(topic)
    records = iter(consumer)
    for _ in range(4):
        next(records)
    restored = consumer_of(topic, starting_offsets="latest")
    restored.restore(consumer.snapshot())
    assert next(iter(restored)).offset() == 4
    with pytest.raises(WrongState, match=r"call restore\(\) before the first record"):
        restored.restore(())


def test_a_group_s_coordinator_has_the_positions_so_nothing_is_restored(topic: str, consumer_of: Consumers) -> None:
    consumer = consumer_of(topic, coordinator=Coordinator("http://localhost:1", group="g"))
    with pytest.raises(ConfigurationError, match=r"return positions of your own from on_assigned="):
        consumer.restore(())


def test_consumer_in_kafka_s_group_refuses_to_restore_a_snapshot(topic: str, consumer_of: Consumers) -> None:
    consumer = consumer_of(topic, {"group.id": "g"}, partitions="kafka", starting_offsets="committed")
    with pytest.raises(ConfigurationError, match=r"Kafka's group .* return positions of your own from on_assigned="):
        consumer.restore(())


def test_a_partition_that_comes_later_is_read_from_its_first_record(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [2])
    consumer = consumer_of(topic, {"topic.metadata.refresh.interval.ms": 100}, idle_timeout="1 millisecond")
    records = iter(consumer)
    seen = [(r.partition(), r.offset()) for r in (next(records), next(records))]
    topics.widen(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(1, T0 + n, None, b"new") for n in range(3)])
    seen += [(r.partition(), r.offset()) for r in (next(records), next(records), next(records))]
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]


def test_break_and_iterate_again_goes_on_with_the_next_record(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, [10])
    consumer = consumer_of(topic, ending_offsets="latest")
    seen = []
    for record in consumer:
        seen.append(record.offset())
        if record.offset() == 5:
            break
    seen += [record.offset() for record in consumer]
    assert seen == list(range(10))


def test_a_consumer_closes_twice_and_reads_no_more(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic, [3])
    with consumer_of(topic) as consumer:
        next(iter(consumer))
    consumer.close()
    assert consumer.status().mode is ReaderMode.CLOSED
    with pytest.raises(WrongState, match="create a new one"):
        next(iter(consumer))


def test_without_a_coordinator_there_is_nobody_to_send_an_event_to(topic: str, consumer_of: Consumers) -> None:
    with pytest.raises(ConfigurationError, match=r"send_source_event\(\) needs a coordinator"):
        consumer_of(topic).send_source_event({"lag": 5})


def test_a_consumer_that_is_told_to_end_before_it_begins_ends_at_once(topic: str, consumer_of: Consumers) -> None:
    with consumer_of(topic) as consumer:
        consumer.stop()
        assert list(consumer) == []
    assert consumer.status().mode is ReaderMode.CLOSED


def test_a_consumer_that_is_told_to_end_while_it_opens_ends_at_once(topic: str, consumer_of: Consumers) -> None:
    consumer = consumer_of(topic)

    def place() -> Place:
        consumer.stop()  # as a SIGTERM does at any moment
        return Alone(discovery_ms=0)

    consumer._place = place  # type: ignore[method-assign]
    assert list(consumer) == []
