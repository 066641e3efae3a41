"""A program that reads in a group: `python -m support.schedules.program` with its settings as JSON.

It writes down each record that it gets, each exchange of splits that was answered, and each ceiling
that it was told, at once: a line reaches the file although the process is killed after it. With
`sink` it writes each record into a table as well, in one transaction with the position and the
number of the assignment.
"""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate.wire.split_events import SplitAnswer, SplitExchange
from lockgate_http.calls.client import CoordinatorClient
from lockgate_reader import AlignedConsumer, Coordinator
from lockgate_reader.clock import now_s
from lockgate_reader.group.holdings import SplitLease
from lockgate_reader.place import AssignedSplit

Key = tuple[str, int]

TABLES = """
CREATE TABLE IF NOT EXISTS results (split TEXT, offset INTEGER);
CREATE TABLE IF NOT EXISTS positions (split TEXT PRIMARY KEY, next INTEGER, number INTEGER);
"""


class Lines:
    """The file of a process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class Sink:
    """A table that takes a record once, from the newest owner of its split alone."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + TABLES)

    def positions(self, assigned: Sequence[AssignedSplit]) -> Mapping[Key, int]:
        """Where to begin: behind what the table has. The newest owner says that it is the owner."""
        found: dict[Key, int] = {}
        for each in assigned:
            name = each.split.split_id
            self._db.execute("BEGIN IMMEDIATE")
            row = self._db.execute("SELECT next, number FROM positions WHERE split = ?", (name,)).fetchone()
            if row is not None:
                found[each.split.topic, each.split.partition] = row[0]
            if row is None or row[1] < each.number:
                self._own(name, 0 if row is None else row[0], each.number)
            self._db.execute("COMMIT")
        return found

    def take(self, split: str, offset: int, number: int) -> bool:
        """Writes a record, if its owner is still the newest one."""
        self._db.execute("BEGIN IMMEDIATE")
        row = self._db.execute("SELECT next, number FROM positions WHERE split = ?", (split,)).fetchone()
        takes = row is None or (row[1] <= number and row[0] <= offset)
        if takes:
            self._db.execute("INSERT INTO results VALUES (?, ?)", (split, offset))
            self._own(split, offset + 1, number)
        self._db.execute("COMMIT")
        return takes

    def _own(self, split: str, following: int, number: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (split, following, number))

    def close(self) -> None:
        self._db.close()


def watch(lines: Lines) -> None:
    """Writes down what each answered exchange has kept. What is given back after the lease has
    ended may be another reader's by then: no answer tells, so it is not written down. And each
    ceiling, as it comes from the coordinator.
    """
    exchange, decoded = CoordinatorClient.exchange_splits, CoordinatorClient._decoded
    lease = SplitLease()

    def watched(self: CoordinatorClient, source: str, subtask: int, sent: SplitExchange) -> SplitAnswer:
        nonlocal lease
        sent_at = now_s()
        answer = exchange(self, source, subtask, sent)
        stopped = {(each.split, each.assignment) for each in answer.stop}
        given_back = sent.given_back if not lease.is_over(sent_at) else ()
        kept = {
            each.split.split_id: (each.assignment, each.split.starting_offset)
            for each in (*sent.held, *given_back)
            if (each.split.split_id, each.assignment) not in stopped and each.split.starting_offset >= 0
        }
        now = now_s()
        lease = lease.renewed(sent_at, answer.lease_ms, now, settled=answer.assigning_in_ms == 0)
        farewell = int(sent.capacity == 0)
        lines.write("S", f"{now:.6f}", f"{sent_at:.6f}", f"{lease.until:.6f}", farewell, json.dumps(kept))
        return answer

    def told(self: CoordinatorClient, decode: Callable[[], Any]) -> Any:
        found = decoded(self, decode)
        event = found if isinstance(found, WatermarkAlignmentEvent) else getattr(found, "alignment", None)
        if isinstance(event, WatermarkAlignmentEvent):
            lines.write("C", f"{now_s():.6f}", event.revision, event.max_desired_watermark)
        return found

    CoordinatorClient.exchange_splits = watched  # type: ignore[method-assign]
    CoordinatorClient._decoded = told  # type: ignore[method-assign,assignment]


def main(settings: dict[str, Any]) -> None:
    lines = Lines(settings["log"])
    watch(lines)
    sink = Sink(settings["sink"]) if settings.get("sink") else None
    own_group: dict[str, Any] = {"partitions": "kafka"} if settings.get("kafka") else {"starting_offsets": "earliest"}
    consumer = AlignedConsumer(
        settings["topic"],
        kafka={
            "bootstrap.servers": settings["bootstrap"],
            "group.id": settings["group"],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 200,
            "topic.metadata.refresh.interval.ms": 500,
            "session.timeout.ms": 6_000,  # the least that a broker allows
            "log_level": 2,
        },
        coordinator=Coordinator(
            settings["url"],
            group=settings["group"],
            source="enrich",
            token_file=settings["token_file"],
            timeout="1 second",
        ),
        on_assigned=None if sink is None else sink.positions,
        **own_group,
    )
    with consumer, closing(sink) if sink is not None else closing(consumer):
        lines.write("B", f"{now_s():.6f}", os.getpid())
        for record in consumer:
            at, reader = now_s(), consumer._reader
            assert reader is not None
            split, orders = reader.assignment.splits[record.topic(), record.partition()], reader.orders
            lines.write(
                "R",
                f"{at:.6f}",
                split.name,
                record.offset(),
                record.timestamp()[1],
                orders.ceiling,
                split.number,
                f"{orders.until:.6f}",
            )
            if sink is not None:  # after the line: what the table has never comes again
                sink.take(split.name, record.offset(), split.number)
            time.sleep(settings["work_s"])
    lines.write("E", f"{now_s():.6f}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
