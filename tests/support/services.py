"""A plain Python service that reads in a group, on a thread of its own; and what the coordinator
says of its splits.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

import httpx
from confluent_kafka import Consumer, Message, TopicPartition

from lockgate_reader import AlignedConsumer, Coordinator, ReaderStatus
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

T0 = 1_767_225_600_000
"""The event time of the first record, ms."""
GROUP = {"max_drift_ms": 10_000, "lease_ms": 600_000, "update_interval_ms": 100, "catch_up": "strict"}
"""A lease that does not end on its own, however slow the machine is."""


class Service:
    """`seen`: partition and offset of each record. `work`: what the program does with a record.
    `failed`: the error that ended it. `settings`: of Kafka's client.
    """

    def __init__(
        self,
        kafka: KafkaBroker,
        topics: str | list[str],
        url: str,
        group: str,
        *,
        work: Callable[[Message], object] = lambda record: None,
        outage: dict[str, Any] | None = None,
        settings: dict[str, object] | None = None,
        **options: Any,
    ) -> None:
        self.seen: list[tuple[int, int]] = []
        self.failed: BaseException | None = None
        self._work = work
        self.consumer = AlignedConsumer(
            topics,
            kafka={"bootstrap.servers": kafka.bootstrap, **(settings or {})},
            coordinator=Coordinator(url, group=group, source="enrich", timeout="5 seconds", **(outage or {})),
            **{"starting_offsets": "earliest", **options},
        )
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Service":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.consumer.stop()
        self._thread.join(60)

    @property
    def status(self) -> ReaderStatus:
        """What the consumer does now."""
        return self.consumer.status()

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            with self.consumer:
                for record in self.consumer:
                    self._work(record)
                    self.seen.append((int(record.partition() or 0), int(record.offset() or 0)))
        except Exception as error:
            self.failed = error


def filled(kafka: KafkaBroker, topic: str, counts: Sequence[int], step_ms: int = 1_000) -> None:
    """A topic with so many records in each partition, one every `step_ms` of event time."""
    topics.create(kafka.bootstrap, topic, len(counts))
    records = [(p, T0 + n * step_ms, None, b"%d" % n) for p, count in enumerate(counts) for n in range(count)]
    topics.produce(kafka.bootstrap, topic, records)


def make_group(url: str, group: str, **rules: Any) -> None:
    """The group of a test, with `GROUP`'s rules but for these."""
    httpx.put(f"{url}/v1/groups/{group}", json={**GROUP, **rules}, timeout=60).raise_for_status()


def splits_of(url: str, group: str, source: str = "enrich") -> dict[str, Any]:
    """What the coordinator says of a source's splits; nothing where it has none."""
    answer = httpx.get(f"{url}/v1/groups/{group}/sources/{source}/splits?limit=1000", timeout=60)
    return dict(answer.json()) if answer.status_code == 200 else {"items": [], "enumerator": {}, "readers": []}


def committed_of(kafka: KafkaBroker, topic: str, partitions: Iterable[int]) -> list[int]:
    """The committed offset of each partition, in Kafka's group of the topic's name."""
    there = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic})
    try:
        return [int(each.offset) for each in there.committed([TopicPartition(topic, part) for part in partitions])]
    finally:
        there.close()


def positions_of(url: str, group: str, source: str = "enrich") -> dict[str, int]:
    """The position of each split, as the coordinator has it."""
    return {item["split"]: item["position"] for item in splits_of(url, group, source)["items"]}
