"""The producers of a scenario, on a real broker. They carry out its acts, and keep an account of
every record in the logs.
"""

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from threading import Event

from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import TopicPartition

from lockgate_testbed import topics
from seeded.played import Record, Split
from seeded.scenario import Append, End, Send, Stamp

TIMEOUT_S = 30.0
QUIET = {"log_level": 2}


@dataclass(frozen=True, slots=True)
class _Sent:
    stamp: Stamp
    split: Split
    event_time: int
    sent_at: float
    live: bool


class Producers:
    """All producers of one run, inside `with`. `prefix`: before the names of topics. `origin_ms`:
    as in `Scenario`. `committed`: whether readers see committed records alone. `in_payload`:
    Kafka's own timestamp is the clock's.
    """

    def __init__(
        self, bootstrap: str, prefix: str, origin_ms: int | None, *, committed: bool, in_payload: bool, ordered: bool
    ) -> None:
        self._bootstrap, self._prefix, self._origin = bootstrap, prefix, origin_ms
        self._committed, self._in_payload, self._ordered = committed, in_payload, ordered
        self._plain = self._producer()
        self._transactional: dict[str, Producer] = {}
        self._open: dict[str, list[int]] = {}  # by producer, places in `records`
        self._highest: dict[Split, int] = defaultdict(int)
        self._failures: list[KafkaError] = []
        self._never = Event()
        self.records: list[Record] = []

    def name(self, topic: str) -> str:
        """A topic's name at the broker."""
        return f"{self._prefix}-{topic}"

    def create(self, topic: str, partitions: int) -> None:
        topics.create(self._bootstrap, self.name(topic), partitions)

    def widen(self, topic: str, partitions: int) -> None:
        topics.widen(self._bootstrap, self.name(topic), partitions)
        # the other one would go by the partitions that it knows for minutes
        self._plain = self._producer()

    def drop(self, names: tuple[str, ...]) -> None:
        topics.delete(self._bootstrap, *map(self.name, names))

    def append(self, act: Append) -> None:
        """Carries out the act; returns when the broker has everything. Raises `KafkaException`."""
        for transaction in {
            step.transaction for step in act.steps if step.transaction is not None
        } - self._transactional.keys():
            self._transactional[transaction] = self._begin(transaction)
        began = time.monotonic()
        for step in sorted(act.steps, key=lambda step: step.at_ms) if act.paced else act.steps:
            if act.paced and (early := began + step.at_ms / 1000 - time.monotonic()) > 0:
                self._plain.poll(0)
                self._never.wait(early)
            if isinstance(step, End):
                self._end(step)
            else:
                self._send(step, act.paced)
        self._flush(self._plain)
        self._check()

    def trim(self, topic: str, partition: int, first_kept: int) -> tuple[Split, int]:
        """Has the broker delete all before a record; returns the partition, and its first offset
        then.
        """
        split = Split(topic, partition)
        kept = (record.offset for record in self.records if record.split == split and record.n >= first_kept)
        whole = TopicPartition(self.name(topic), partition, min(kept, default=OFFSET_END))
        admin = AdminClient({"bootstrap.servers": self._bootstrap, **QUIET})
        (done,) = admin.delete_records([whole], request_timeout=TIMEOUT_S).values()
        return split, done.result().low_watermark

    def close(self) -> None:
        """Ends all that is open; topics stay, since a query may still ask for them."""
        for transaction in list(self._open):
            self._transactional[transaction].abort_transaction(TIMEOUT_S)

    def _producer(self) -> Producer:
        return Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 0, "enable.idempotence": True, **QUIET})

    def _begin(self, transaction: str) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": f"{self._prefix}-{transaction}",
                "linger.ms": 0,
                **QUIET,
            }
        )
        producer.init_transactions(TIMEOUT_S)
        return producer

    def _send(self, step: Send, live: bool) -> None:
        producer = self._plain
        if step.transaction is not None:
            producer = self._transactional[step.transaction]
            if step.transaction not in self._open:
                producer.begin_transaction()
                self._open[step.transaction] = []
        split = Split(step.topic, step.partition)
        for stamp in step.stamps:
            sent = _Sent(stamp, split, self._event_time(split, stamp), time.time() * 1000, live)
            producer.produce(
                self.name(step.topic),
                f"{stamp.n},{stamp.key},{sent.event_time}".encode(),
                partition=step.partition,
                timestamp=int(sent.sent_at) if self._in_payload else sent.event_time,
                on_delivery=lambda error, message, sent=sent: self._delivered(error, message, sent, step.transaction),
            )
        producer.poll(0)
        if step.transaction is not None:
            self._flush(producer)  # else it goes out with the commit, and nothing is ever open

    def _event_time(self, split: Split, stamp: Stamp) -> int:
        if self._origin is not None:
            return self._origin + stamp.when
        event_time = int(time.time() * 1000) - stamp.when
        if self._ordered:  # a moment's delay of this thread is not to be a disorder
            event_time = max(event_time, self._highest[split])
            self._highest[split] = event_time
        return event_time

    def _delivered(self, error: KafkaError | None, message: Message, sent: _Sent, transaction: str | None) -> None:
        if error is not None:
            self._failures.append(error)
            return
        hidden = transaction is not None and self._committed
        offset = message.offset()
        assert offset is not None
        # What may be late is by when a reader can have it; what waits is since its producer sent
        # it.
        record = Record(
            sent.stamp.n,
            sent.stamp.key,
            sent.split,
            offset,
            sent.event_time,
            sent.sent_at,
            None if hidden else sent.sent_at,
            sent.live,
        )
        if hidden and transaction is not None:
            self._open[transaction].append(len(self.records))
        self.records.append(record)

    def _end(self, step: End) -> None:
        producer = self._transactional[step.transaction]
        at = time.time() * 1000
        if step.commits:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)
        for place in self._open.pop(step.transaction, []):
            if step.commits:
                self.records[place] = replace(self.records[place], visible_at=at, surely_at=time.time() * 1000)

    def _flush(self, producer: Producer) -> None:
        if producer.flush(TIMEOUT_S):
            raise KafkaException("a producer could not deliver its records in time")

    def _check(self) -> None:
        if self._failures:
            raise KafkaException(self._failures[0])
