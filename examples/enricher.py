r"""A plain Python service in one group with a Spark query, until SIGTERM. It enriches the records
of a topic, each exactly once, into a table of FOLDER/enriched.db.

    lockgate serve &
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \
        examples/window_counts.py BROKERS orders --data FOLDER_OF_COUNTS &
    python examples/enricher.py BROKERS payments --data FOLDER

Start it several times with the same FOLDER: the processes share the topic's partitions. Kill one,
and another one goes on where its last transaction ended. docker-compose.yml starts it beside the
Spark job (profile `reader`).

The table has the result of each record, and for each partition the next offset and the number of
its owner's assignment. All three change in one transaction. An owner whose number is no longer the
highest one was replaced while it was away: its transaction changes nothing.
"""

import argparse
import logging
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Message

from lockgate import watermark
from lockgate_reader import AlignedConsumer, AssignedSplit, Coordinator

TABLES = """
CREATE TABLE IF NOT EXISTS enriched (topic TEXT, part INTEGER, at INTEGER, minute TEXT, region TEXT);
CREATE TABLE IF NOT EXISTS positions (topic TEXT, part INTEGER, next INTEGER, owner INTEGER, PRIMARY KEY (topic, part));
"""
REGIONS = ("north", "east", "south", "west")

Key = tuple[str, int]


class Table:
    """The results, and how far they go in each partition."""

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, timeout=60, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode = WAL;" + TABLES)

    def begin(self, assigned: Sequence[AssignedSplit]) -> Mapping[Key, int]:
        """Make this process the owner of these splits, and return where it begins in those in the
        table.
        """
        found: dict[Key, int] = {}
        for each in assigned:
            key = (each.split.topic, each.split.partition)
            self._db.execute("BEGIN IMMEDIATE")
            known = self._position(key)
            if known is not None:
                found[key] = known[0]
            if known is None or known[1] < each.number:
                start = known[0] if known is not None else max(0, each.split.starting_offset)
                self._db.execute("REPLACE INTO positions VALUES (?, ?, ?, ?)", (*key, start, each.number))
            self._db.execute("COMMIT")
        return found

    def take(self, record: Message, owner: int) -> None:
        """Enriches one record, unless it is there already, or another process owns its split by
        now.
        """
        key, offset = (str(record.topic()), int(record.partition() or 0)), int(record.offset() or 0)
        self._db.execute("BEGIN IMMEDIATE")
        following, newest = self._position(key) or (0, owner)
        if newest <= owner and following <= offset:
            minute, region = _minute(record), REGIONS[sum(record.key() or b"") % len(REGIONS)]
            self._db.execute("INSERT INTO enriched VALUES (?, ?, ?, ?, ?)", (*key, offset, minute, region))
            self._db.execute("REPLACE INTO positions VALUES (?, ?, ?, ?)", (*key, offset + 1, owner))
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _position(self, key: Key) -> tuple[int, int] | None:
        found = self._db.execute("SELECT next, owner FROM positions WHERE topic = ? AND part = ?", key).fetchone()
        return None if found is None else (found[0], found[1])


def _minute(record: Message) -> str:
    moment = datetime.fromtimestamp(record.timestamp()[1] // 60_000 * 60, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def enrich(consumer: AlignedConsumer, table: Table, alive: Path | None) -> None:
    """Read until the consumer is stopped, and print a line for each new minute."""
    newest = ""
    for record in consumer:
        table.take(record, consumer.number_of(record))
        minute = _minute(record)
        if minute > newest:
            newest = minute
            print(f"up to minute {minute}; the watermark is at {watermark.instant(consumer.watermark)}", flush=True)
            if alive is not None:
                alive.touch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="Kafka's bootstrap servers, host:port")
    parser.add_argument("topic")
    parser.add_argument(
        "--coordinator", default="http://127.0.0.1:8080", help="URL of the coordinator (default %(default)s)"
    )
    parser.add_argument("--group", default="shop", help="the group to join (default: %(default)s)")
    parser.add_argument("--data", type=Path, required=True, help="folder for the table, which all processes share")
    parser.add_argument("--alive", type=Path, help="a file that is touched while records come")
    chosen = parser.parse_args()

    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("lockgate").setLevel(logging.INFO)
    token = os.environ.get("LOCKGATE_TOKEN") or None
    with closing(Table(chosen.data / "enriched.db")) as table:
        consumer = AlignedConsumer(
            chosen.topic,
            kafka={"bootstrap.servers": chosen.brokers},
            starting_offsets="earliest",
            coordinator=Coordinator(chosen.coordinator, group=chosen.group, source=chosen.topic, token=token),
            on_assigned=table.begin,
        )
        with consumer:  # on SIGTERM it gives its splits back
            enrich(consumer, table, chosen.alive)


if __name__ == "__main__":
    main()
