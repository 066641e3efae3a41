"""Split logs in memory, for the planner's tests: lists of event times instead of a broker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockgate.planner import Backlog, Head


@dataclass
class LogsInMemory:
    """A `SplitLog` over plain lists: `logs[split][offset]` is a record's event time in ms."""

    logs: Mapping[str, Sequence[int]]
    positions: dict[str, int]
    ends: dict[str, int]
    asked: list[int] = field(default_factory=list)

    @classmethod
    def from_start(cls, **logs: Sequence[int]) -> "LogsInMemory":
        return cls(logs, dict.fromkeys(logs, 0), {split: len(log) for split, log in logs.items()})

    def backlogs(self, now: int, source_of: Mapping[str, int] | None = None) -> dict[str, Backlog]:
        source = source_of or {}
        return {
            split: Backlog(source=source.get(split, 0), position=self.positions[split], end=self.ends[split], known_until=now)
            for split in self.logs
        }

    def heads(self) -> dict[str, Head]:
        return {s: Head(p, self.logs[s][p]) for s, p in self.positions.items() if p < self.ends[s]}

    def first_after(self, event_time: int) -> dict[str, Head]:
        self.asked.append(event_time)
        found = {}
        for split, log in self.logs.items():
            unread = range(self.positions[split], self.ends[split])
            offset = next((offset for offset in unread if log[offset] > event_time), None)
            if offset is not None:
                found[split] = Head(offset, log[offset])
        return found

    def highest(self) -> dict[str, int]:
        return {split: max(self.logs[split][:end]) for split, end in self.ends.items() if end}
