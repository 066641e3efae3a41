"""Logs that have more than records: markers of transactions, aborted records, holes of compaction,
and records not committed yet.
"""

import struct
from dataclasses import dataclass, field
from enum import Enum

from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from support.runs import JvmLogInMemory, SourceInMemory


class Kind(Enum):
    RECORD = "record"
    MARKER = "marker"  # at the end of a transaction, with the broker's clock
    ABORTED = "aborted"  # a record that only those without isolation are sent
    COMPACTED = (
        # nobody is sent it, and look-ups by time pass it over; that of the highest timestamp may
        # name it
        "compacted"
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """The record or marker at one offset; `stamp` in ms."""

    kind: Kind
    stamp: int


@dataclass
class JvmMarkedLog(JvmLogInMemory):
    """`KafkaLog.java` over such logs: `records` are the stamps, as look-ups see them. `stable`: by
    split, where the first open transaction begins. Committed reads end there.
    """

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    committed: bool = True
    stable: dict[str, int] = field(default_factory=dict)
    knows_highest: bool = True
    reads: int = 0

    def shown(self, split: str) -> int:
        """Where what is shown ends."""
        log = self.entries[split]
        return min(self.stable.get(split, len(log)), len(log)) if self.committed else len(log)

    def sent(self, split: str, start: int, end: int) -> "list[tuple[int, int]]":  # type: ignore[override]
        kinds = (Kind.RECORD,) if self.committed else (Kind.RECORD, Kind.ABORTED)
        log, first = self.entries[split], max(0, start)
        stop = min(end, self.shown(split))
        return [(first + n, entry.stamp) for n, entry in enumerate(log[first:stop]) if entry.kind in kinds]

    def firstAt(self, event_time: int) -> bytes:  # noqa: N802
        return self._named(
            lambda log: next(
                (n for n, e in enumerate(log) if e.kind is not Kind.COMPACTED and e.stamp >= event_time), -1
            )
        )

    def highest(self) -> bytes:
        if not self.knows_highest:
            return b""
        return self._named(lambda log: max(range(len(log)), key=lambda n: (log[n].stamp, -n), default=-1))

    def begins(self) -> bytes:
        return struct.pack(f">{2 * len(self.splits)}q", *(0, -1) * len(self.splits))

    def uncommittedEnds(self) -> bytes:  # noqa: N802
        return struct.pack(
            f">{2 * len(self.splits)}q", *(value for split in self.splits for value in (len(self.entries[split]), -1))
        )

    def read(self, ranges: bytes, target: int, most_passed: int, patience_ms: int) -> bytes:
        self.reads += 1
        return super().read(ranges, target, most_passed, patience_ms)

    def readsCommitted(self) -> bool:  # noqa: N802
        return self.committed

    def _named(self, find) -> bytes:  # type: ignore[no-untyped-def]
        found = []
        for split in self.splits:
            offset = find(self.entries[split])
            found += [offset, self.entries[split][offset].stamp] if 0 <= offset < self.shown(split) else [-1, -1]
        return struct.pack(f">{len(found)}q", *found)


class MarkedSource(SourceInMemory):
    """A source over such logs."""

    def __init__(self, jvm: JvmMarkedLog, budget: int | None = None) -> None:
        super().__init__({}, budget)
        self.jvm: JvmMarkedLog = jvm
        self.log = KafkaSplitLog(jvm)

    def initial(self) -> Offsets:
        return dict.fromkeys(self.jvm.entries, 0)

    def _all(self) -> Offsets:
        return {split: self.jvm.shown(split) for split in self.jvm.entries}
