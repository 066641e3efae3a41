"""Logs in memory whose oldest records were deleted, as retention and `delete_records` do it."""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from support.runs import JvmLogInMemory, SourceInMemory


@dataclass
class TrimmedJvmLog(JvmLogInMemory):
    """`begin_at[split]`: below this offset all was deleted."""

    begin_at: dict[str, int] = field(default_factory=dict)

    def begins(self) -> bytes:
        return struct.pack(
            f">{2 * len(self.splits)}q",
            *(value for split in self.splits for value in (self.begin_at.get(split, 0), -1)),
        )

    def sent(self, split: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        return super().sent(split, max(start, self.begin_at.get(split, 0)), end)

    def _sampled(self, split: str, start: int, end: int) -> tuple[int, int, int, int]:
        return super()._sampled(split, start if start < 0 else max(start, self.begin_at.get(split, 0)), end)

    def _each(self, ask: Callable[[list[int]], tuple[int, int]]) -> bytes:
        found = []
        for split in self.splits:
            begin = self.begin_at.get(split, 0)
            offset, value = ask(self.records[split][begin:])
            found += [offset + begin if offset >= 0 else offset, value]
        return struct.pack(f">{len(found)}q", *found)


class TrimmedSource(SourceInMemory):
    """Starts at `starts`, by split, else where its log begins; `trim` deletes more of it."""

    def __init__(
        self, records: Mapping[str, list[int]], starts: Offsets | None = None, budget: int | None = None
    ) -> None:
        super().__init__(records, budget)
        self.trimmed = TrimmedJvmLog(self.records)
        self.jvm, self.log = self.trimmed, KafkaSplitLog(self.trimmed)
        self._starts = starts or {}

    def trim(self, split: str, begin: int) -> "TrimmedSource":
        self.trimmed.begin_at[split] = begin
        return self

    def initial(self) -> Offsets:
        return {split: self._starts.get(split, self.trimmed.begin_at.get(split, 0)) for split in self.records}
