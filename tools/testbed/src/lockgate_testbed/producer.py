"""Two feeds whose event times lie apart, for a look at alignment: a history first, then live,
slowly, until SIGTERM.

Each partition of a feed has one record for each so many ms of event time. A record is due at its
event time + `behind_ms`. The producer writes what is due: at the start the history, all at once,
and then one record after the other. A producer that comes back finds in the topics where it
stopped, and writes what has become due meanwhile.

    python -m lockgate_testbed.producer feed BROKERS [--alive FILE]
    python -m lockgate_testbed.producer counts BROKERS TOPIC

`feed` touches FILE each round, once the history is written. `counts` prints JSON: minute of event
time -> records.
"""

import argparse
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from lockgate_testbed import topics
from lockgate_testbed.skew import HEADER, HOUR_MS, KEYS

MINUTE_MS = 60_000
ROUND_S = 1.0
NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class Feed:
    """A topic whose event times begin `starts_ms` before the producer's first start.

    `every_ms`: for each partition the event time between two records. `behind_ms`: by how much the
    records of each partition come later than they are stamped.
    """

    topic: str
    starts_ms: int
    every_ms: tuple[int, ...]
    behind_ms: tuple[int, ...]

    def due(self, partition: int, origin_ms: int, first: int, now_ms: int) -> Iterator[tuple[int, int]]:
        """`(event time in ms, offset)` of the records from offset `first` on that are due at
        `now_ms`; record 0 is stamped `origin_ms`.
        """
        every = self.every_ms[partition]
        count = (now_ms - self.behind_ms[partition] - origin_ms) // every + 1
        return ((origin_ms + offset * every, offset) for offset in range(first, count))


FEEDS = (
    # The last partition is the sparsest one, and its records come half a minute late.
    Feed("orders", 3 * HOUR_MS, (250, 500, 2_000), (0, 0, 30_000)),
    # Begins where `orders` is after more than two of its three hours.
    Feed("payments", 40 * MINUTE_MS, (100, 100), (0, 0)),
)


class Writer:
    """One feed, appended to its topic, which is created if it is not there. Failures of Kafka come
    as `confluent_kafka.KafkaException`.

    `now_ms`: wall clock, ms since the epoch. A record whose acknowledgement was lost may be written
    again, and is in the topic twice then.
    """

    def __init__(self, bootstrap: str, feed: Feed, now_ms: int) -> None:
        self.feed, self._bootstrap = feed, bootstrap
        try:
            topics.create(bootstrap, feed.topic, len(feed.every_ms))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        self._next = ends(bootstrap, feed.topic, len(feed.every_ms))
        first = next(stamps(bootstrap, feed.topic, [min(1, end) for end in self._next]), None)
        self._origin_ms = now_ms - feed.starts_ms if first is None else first

    @property
    def written(self) -> int:
        """How many records the topic holds."""
        return sum(self._next)

    def write(self, now_ms: int) -> None:
        """Append the records that are due, all partitions by event time. Return when the broker has
        them.
        """
        due = [self.feed.due(p, self._origin_ms, first, now_ms) for p, first in enumerate(self._next)]
        records = sorted((stamp, p, offset) for p, more in enumerate(due) for stamp, offset in more)
        values = (
            (p, stamp, offset.to_bytes(8, "big"), HEADER.pack(offset % KEYS, stamp, offset))
            for stamp, p, offset in records
        )
        topics.produce(self._bootstrap, self.feed.topic, values)
        for _, partition, offset in records:
            self._next[partition] = offset + 1


def ends(bootstrap: str, topic: str, partitions: int) -> list[int]:
    """How far each partition has been written: its high watermark."""
    with _consumer(bootstrap) as consumer:
        return [_end(consumer, TopicPartition(topic, partition)) for partition in range(partitions)]


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    give_up = time.monotonic() + topics.TIMEOUT_S
    while True:
        try:
            high: int = consumer.get_watermark_offsets(partition, topics.TIMEOUT_S)[1]
        except KafkaException as error:
            # A broker that has just made the topic, or just started, may not know yet that it leads
            # the partition.
            if error.args[0].code() not in NO_LEADER_YET or time.monotonic() > give_up:
                raise
            time.sleep(0.05)
        else:
            return high


def stamps(bootstrap: str, topic: str, until: Sequence[int]) -> Iterator[int]:
    """Event times (ms since the epoch) of the records below an offset of each partition, one
    partition after the other.
    """
    with _consumer(bootstrap) as consumer:
        for partition, end in enumerate(until):
            consumer.assign([TopicPartition(topic, partition, 0)])
            position = 0
            while position < end:
                batch = consumer.consume(min(10_000, end - position), topics.TIMEOUT_S)
                if not batch:
                    raise TimeoutError(
                        f"nothing came of {topic}-{partition} from offset {position} on within {topics.TIMEOUT_S:g} s"
                    )
                for record in batch:
                    if record.error() is not None:
                        raise KafkaException(record.error())
                    position += 1  # nothing is compacted or aborted here: offsets have no gaps
                    yield record.timestamp()[1]


def counts(bootstrap: str, topic: str) -> dict[str, int]:
    """How many records a topic holds of each minute of event time (ISO 8601, UTC)."""
    held = ends(bootstrap, topic, len(topics.partitions(bootstrap, topic)))
    minutes = Counter(stamp // MINUTE_MS for stamp in stamps(bootstrap, topic, held))
    return {_iso(minute * MINUTE_MS): minutes[minute] for minute in sorted(minutes)}


@contextmanager
def _consumer(bootstrap: str) -> Iterator[Consumer]:
    # A group's name has to be given, but nothing is ever committed under it.
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "producer", "enable.auto.commit": False, **topics.QUIET}
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def feed(bootstrap: str, alive: Path | None) -> None:
    """Write until SIGTERM comes."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    writers = [Writer(bootstrap, feed, _now_ms()) for feed in FEEDS]
    told = False
    while True:
        for writer in writers:
            writer.write(_now_ms())
        if alive:
            alive.touch()
        if not told:
            told = True
            _tell(writers, "and now live")
        if stopping.wait(ROUND_S):
            break
    _tell(writers, "stopped")


def _tell(writers: Sequence[Writer], what: str) -> None:
    for writer in writers:
        print(f"{writer.feed.topic}: {writer.written:,} records, {what}", flush=True)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="producer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    feeding, counting = commands.add_parser("feed"), commands.add_parser("counts")
    for command in (feeding, counting):
        command.add_argument("brokers", help="Kafka's bootstrap servers, host:port")
    feeding.add_argument("--alive", type=Path, help="a file that is touched each round")
    counting.add_argument("topic")
    chosen = parser.parse_args()
    if chosen.command == "feed":
        feed(chosen.brokers, chosen.alive)
    else:
        print(json.dumps(counts(chosen.brokers, chosen.topic)))


if __name__ == "__main__":
    main()
