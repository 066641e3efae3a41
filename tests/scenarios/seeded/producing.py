"""The producers of a scenario, on a real broker. They carry out its acts, and keep an account of
every record in the logs.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import TopicPartition

from lockgate_testbed import topics
from seeded.played import Record, Split
from seeded.scenario import Append, End, Send, Stamp, cluster_of

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
    """All producers of one run. `brokers`: the address of each cluster. `prefix`: before the names
    of topics. `clock`: theirs, in ms. `origin_ms`: as in `Scenario`. `committed`: whether readers
    see committed records alone. `in_payload`: Kafka's own timestamp is the clock's.
    """

    def __init__(
        self,
        brokers: Callable[[int], str],
        prefix: str,
        clock: Callable[[], float],
        origin_ms: int | None,
        *,
        committed: bool,
        in_payload: bool,
        ordered: bool,
    ) -> None:
        self._brokers, self._prefix, self._clock, self._origin = brokers, prefix, clock, origin_ms
        self._committed, self._in_payload, self._ordered = committed, in_payload, ordered
        self._plain: dict[int, Producer] = {}
        self._transactional: dict[str, Producer] = {}
        self._open: dict[str, list[int]] = {}  # by producer, places in `records`
        self._highest: dict[Split, int] = defaultdict(int)
        self._failures: list[KafkaError] = []
        self._never = Event()
        self.records: list[Record] = []

    def name(self, topic: str) -> str:
        """A topic's name at its broker."""
        return f"{self._prefix}-{topic.partition('@')[0]}"

    def create(self, topic: str, partitions: int) -> None:
        topics.create(self._broker(topic), self.name(topic), partitions)

    def widen(self, topic: str, partitions: int) -> None:
        topics.widen(self._broker(topic), self.name(topic), partitions)
        # the other one would go by the partitions that it knows for minutes
        self._plain.pop(cluster_of(topic), None)

    def drop(self, names: tuple[str, ...]) -> None:
        for name in names:
            topics.delete(self._broker(name), self.name(name))

    def append(self, act: Append) -> None:
        """Carries out the act; returns when the broker has everything. Raises `KafkaException`."""
        for transaction in {
            step.transaction for step in act.steps if step.transaction is not None
        } - self._transactional.keys():
            self._transactional[transaction] = self._begin(transaction)
        began = time.monotonic()
        for step in sorted(act.steps, key=lambda step: step.at_ms) if act.paced else act.steps:
            if act.paced and (early := began + step.at_ms / 1000 - time.monotonic()) > 0:
                for producer in self._plain.values():
                    producer.poll(0)
                self._never.wait(early)
            if isinstance(step, End):
                self._end(step)
            else:
                self._send(step, act.paced)
        for producer in self._plain.values():
            self._flush(producer)
        self._check()

    def trim(self, topic: str, partition: int, first_kept: int) -> tuple[Split, int]:
        """Has the broker delete all before a record; returns the partition, and its first offset
        then.
        """
        split = Split(topic, partition)
        kept = (record.offset for record in self.records if record.split == split and record.n >= first_kept)
        whole = TopicPartition(self.name(topic), partition, min(kept, default=OFFSET_END))
        admin = AdminClient({"bootstrap.servers": self._broker(topic), **QUIET})
        (done,) = admin.delete_records([whole], request_timeout=TIMEOUT_S).values()
        return split, done.result().low_watermark

    def close(self) -> None:
        """Ends all that is open; topics stay, since a query may still ask for them."""
        for transaction in list(self._open):
            self._transactional[transaction].abort_transaction(TIMEOUT_S)

    def _broker(self, topic: str) -> str:
        return self._brokers(cluster_of(topic))

    def _producer(self, topic: str) -> Producer:
        cluster = cluster_of(topic)
        if cluster not in self._plain:
            self._plain[cluster] = Producer(
                {"bootstrap.servers": self._brokers(cluster), "linger.ms": 0, "enable.idempotence": True, **QUIET}
            )
        return self._plain[cluster]

    def _begin(self, transaction: str) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self._brokers(0),
                "transactional.id": f"{self._prefix}-{transaction}",
                "linger.ms": 0,
                **QUIET,
            }
        )
        producer.init_transactions(TIMEOUT_S)
        return producer

    def _send(self, step: Send, live: bool) -> None:
        producer = self._producer(step.topic)
        if step.transaction is not None:
            producer = self._transactional[step.transaction]
            if step.transaction not in self._open:
                producer.begin_transaction()
                self._open[step.transaction] = []
        split = Split(step.topic, step.partition)
        for stamp in step.stamps:
            sent = _Sent(stamp, split, self._event_time(split, stamp), self._clock(), live)
            told = sent.event_time if stamp.text is None else stamp.text
            producer.produce(
                self.name(step.topic),
                f"{stamp.n},{stamp.key},{told}".encode(),
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
        event_time = int(self._clock()) - stamp.when
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
            timed=sent.stamp.text is None,
        )
        if hidden and transaction is not None:
            self._open[transaction].append(len(self.records))
        self.records.append(record)

    def _end(self, step: End) -> None:
        producer = self._transactional[step.transaction]
        at = self._clock()
        if step.commits:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)
        for place in self._open.pop(step.transaction, []):
            if step.commits:
                self.records[place] = replace(self.records[place], visible_at=at, surely_at=self._clock())

    def _flush(self, producer: Producer) -> None:
        if producer.flush(TIMEOUT_S):
            raise KafkaException("a producer could not deliver its records in time")

    def _check(self) -> None:
        if self._failures:
            raise KafkaException(self._failures[0])
