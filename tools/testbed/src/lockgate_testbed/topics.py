"""Topics: created, deleted, filled. Failures of Kafka come as `confluent_kafka.KafkaException`."""

import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from lockgate_testbed.skew import HEADER, KEYS, SkewedTopic

TIMEOUT_S = 30.0
SLICES = 2_000
_SHARES = 200
_AT_ONCE = 4_000  # partitions: the controller takes no more than some thousand in one request
# Event time is CreateTime: kept whatever its age, accepted from however far ahead (a stock broker
# takes an hour at most).
TOPIC_CONFIG = {
    "message.timestamp.type": "CreateTime",
    "retention.ms": "-1",
    "message.timestamp.after.max.ms": str(2**63 - 1),
    "segment.bytes": str(128 * 1024 * 1024),
}
# librdkafka prints refused connections, which is what a wait or an outage consists of
QUIET = {"log_level": 2}


def create(bootstrap: str, name: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Create a topic and return when every partition can be written. `config` is laid over
    `TOPIC_CONFIG`.
    """
    admin = _admin(bootstrap)
    first = min(partitions, _AT_ONCE)
    wanted = NewTopic(name, first, 1, config={**TOPIC_CONFIG, **(config or {})})
    was_there = name in admin.list_topics(timeout=TIMEOUT_S).topics
    try:
        admin.create_topics([wanted], request_timeout=TIMEOUT_S)[name].result()
    except KafkaException as error:
        # A busy broker that answers late is asked again, and has the topic from the first time.
        if was_there or error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    for more in range(first + _AT_ONCE, partitions + _AT_ONCE, _AT_ONCE):
        admin.create_partitions([NewPartitions(name, min(more, partitions))], request_timeout=TIMEOUT_S)[name].result()
    _await(
        lambda: len(_led(admin, name)) == partitions, f"{name} has no leader for each of its {partitions} partitions"
    )


@contextmanager
def created(bootstrap: str, partitions_of: Mapping[str, int]) -> Iterator[None]:
    """Topics by name, with their numbers of partitions, for the time of a `with`: names that others
    want too are free again afterwards.
    """
    for name, wanted in partitions_of.items():
        create(bootstrap, name, wanted)
    try:
        yield
    finally:
        delete(bootstrap, *partitions_of)


def widen(bootstrap: str, name: str, partitions: int) -> None:
    """Give a topic more partitions, `partitions` in all, and return when each can be written."""
    admin = _admin(bootstrap)
    admin.create_partitions([NewPartitions(name, partitions)], request_timeout=TIMEOUT_S)[name].result()
    _await(
        lambda: len(_led(admin, name)) == partitions, f"{name} has no leader for each of its {partitions} partitions"
    )


def delete(bootstrap: str, *names: str) -> None:
    """Delete topics and return when they are gone, so that the names are free again."""
    admin = _admin(bootstrap)
    for future in admin.delete_topics(list(names), request_timeout=TIMEOUT_S).values():
        future.result()
    _await(
        lambda: not set(names) & set(admin.list_topics(timeout=TIMEOUT_S).topics),
        f"{', '.join(names)} still listed after deletion",
    )


def partitions(bootstrap: str, name: str) -> list[int]:
    """Return the numbers of a topic's partitions that can be read and written now."""
    return _led(_admin(bootstrap), name)


def produce(
    bootstrap: str, topic: str, records: Iterable[tuple[int, int, bytes | str | None, bytes | str | None]]
) -> None:
    """Append `(partition, timestamp_ms, key, value)` in this order within each partition; return
    when the broker has all of them.
    """
    producer, failures = _producer(bootstrap, {"linger.ms": 0})
    for partition, timestamp_ms, key, value in records:
        producer.produce(topic, value, key, partition, timestamp=timestamp_ms)
    _flush(producer, failures)


def load(
    bootstrap: str,
    topic: SkewedTopic,
    progress: Callable[[int], None] | None = None,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a skewed topic and fill it; `progress` is called with the number of records handed
    over so far. `config` as in `create`.

    The partitions grow together, in slices of event time. One process is used: a second one brings
    nothing, for the broker needs the other core.
    """
    create(bootstrap, topic.name, topic.partitions, config)
    producer, failures = _producer(bootstrap, {"linger.ms": 20, "batch.size": 1_000_000})
    counts = topic.counts()
    firsts = [0, *accumulate(counts)]
    sent = 0
    for part in range(1, SLICES + 1):
        for partition, count in enumerate(counts):
            slice_ = range(count * (part - 1) // SLICES, count * part // SLICES)
            if slice_:
                _append(producer, topic, partition, count, firsts[partition], slice_)
                sent += len(slice_)
        producer.poll(0)
        if progress:
            progress(sent)
    _flush(producer, failures)


def fill(
    bootstrap: str,
    name: str,
    logs: Sequence[Sequence[tuple[int, int]]],
    progress: Callable[[int], None] | None = None,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a topic and append `(event time in ms, number)` of each log to a partition of its own,
    in this order; the key is the number, big endian.

    Values are as in `load`, as short as they can be. The partitions grow together, by shares of
    their logs. `config` as in `create`.
    """
    create(bootstrap, name, len(logs), config)
    producer, failures = _producer(bootstrap, {"linger.ms": 20, "batch.size": 1_000_000})
    sent = 0
    for part in range(1, _SHARES + 1):
        for partition, log in enumerate(logs):
            for event_time, number in log[len(log) * (part - 1) // _SHARES : len(log) * part // _SHARES]:
                value = HEADER.pack(number % KEYS, event_time, number)
                _send(producer, name, value, number.to_bytes(8, "big"), partition, event_time)
                sent += 1
        producer.poll(0)
        if progress:
            progress(sent)
    _flush(producer, failures)


def _send(producer: Producer, name: str, value: bytes, key: bytes, partition: int, event_time: int) -> None:
    while True:
        try:
            producer.produce(name, value, key, partition, timestamp=event_time)
            return
        except BufferError:
            producer.poll(0.05)


def _append(producer: Producer, topic: SkewedTopic, partition: int, count: int, first: int, offsets: range) -> None:
    # The innermost loop of millions of records: names are local, and nothing is called that can be
    # written out.
    low, high = topic.span_ms(partition)
    pack = struct.Struct(f"{HEADER.format}{topic.value_bytes - HEADER.size}x").pack
    send, name = producer.produce, topic.name
    for offset in offsets:
        event_time = low + offset * (high - low) // count
        seq = first + offset
        value = pack(seq % KEYS, event_time, seq)
        while True:
            try:
                send(name, value, value[:4], partition, timestamp=event_time)
                break
            except BufferError:
                producer.poll(0.05)


def _producer(bootstrap: str, config: Mapping[str, Any]) -> tuple[Producer, list[KafkaError]]:
    failures: list[KafkaError] = []

    def failed(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    limits = {
        "queue.buffering.max.messages": 300_000,
        "queue.buffering.max.kbytes": 262_144,
        "delivery.timeout.ms": 60_000,
    }
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            **QUIET,
            **limits,
            "enable.idempotence": True,  # a request sent again adds no record twice, nor out of order
            **config,
            "delivery.report.only.error": True,
            "on_delivery": failed,
        }
    ), failures


def _flush(producer: Producer, failures: list[KafkaError]) -> None:
    producer.flush()  # ends at the latest when the delivery time-out has failed what is left
    if failures:
        raise KafkaException(failures[0])


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, **QUIET})


def _led(admin: AdminClient, name: str) -> list[int]:
    found = admin.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions
    return sorted(number for number, partition in found.items() if partition.leader >= 0)


def _await(done: Callable[[], bool], problem: str) -> None:
    give_up = time.monotonic() + TIMEOUT_S
    while not done():
        if time.monotonic() > give_up:
            raise TimeoutError(f"{problem} after {TIMEOUT_S:g} s")
        time.sleep(0.02)
