"""A consumer while partitions change their leader again and again: none stays silent."""

import threading
import time

import pytest

from lockgate_reader import AlignedConsumer
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.two_brokers import LAGS_MS, TwoBrokers

pytestmark = pytest.mark.kafka

RESTARTS = 10
SILENT_S = 60.0


class Reading:
    """A consumer on a thread of its own. `last`: when the last record of each partition came."""

    def __init__(self, brokers: TwoBrokers) -> None:
        self.seen: list[tuple[int, int]] = []
        self.last = dict.fromkeys(range(len(LAGS_MS)), time.monotonic())
        self.longest_s = 0.0
        self.consumer = AlignedConsumer(
            brokers.topic, kafka={"bootstrap.servers": brokers.bootstrap}, starting_offsets="earliest"
        )
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with self.consumer:
            for record in self.consumer:
                partition, now = int(record.partition() or 0), time.monotonic()
                self.longest_s = max(self.longest_s, now - self.last[partition])
                self.last[partition] = now
                self.seen.append((partition, int(record.offset() or 0)))


@pytest.mark.long
def test_no_partition_is_silent_without_an_alarm_over_ten_restarts(
    topic: str, kafka: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with KafkaBroker() as first, KafkaBroker(joins=first) as second:
        brokers = TwoBrokers(first, second, topic)
        with brokers.fed() as written:
            reading = Reading(brokers)
            for _ in range(RESTARTS):
                second.kill()
                brokers.await_leaders([1, 1, 1, 1])
                second.start()
                brokers.lead_as_before()
                moment = time.monotonic()
                wait_for(lambda at=moment: min(reading.last.values()) > at)  # type: ignore[misc]
        wait_for(lambda: len(reading.seen) == len(written))
        reading.consumer.stop()
        reading.thread.join(60)
    assert len(set(reading.seen)) == len(written)
    assert reading.longest_s < SILENT_S or "Kafka has sent nothing of" in caplog.text
