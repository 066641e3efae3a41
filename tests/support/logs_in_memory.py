"""Split logs in memory, for the planner's tests: lists of event times instead of a broker."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lockgate.plan.model import Backlog, Head


@dataclass
class LogsInMemory:
    """A `SplitLog` over plain lists: `logs[split][offset]` is a record's event time in ms."""

    logs: Mapping[str, Sequence[int]]
    positions: dict[str, int]
    ends: dict[str, int]
    asked: list[int] = field(default_factory=list)
    incredible: frozenset[int] = frozenset()  # event times that take no part
    read_budget_spent: bool = False

    @classmethod
    def from_start(cls, **logs: Sequence[int]) -> "LogsInMemory":
        return cls(logs, dict.fromkeys(logs, 0), {split: len(log) for split, log in logs.items()})

    def backlogs(self, now: int, source_of: Mapping[str, int] | None = None) -> dict[str, Backlog]:
        source = source_of or {}
        return {
            split: Backlog(
                source=source.get(split, 0), position=self.positions[split], end=self.ends[split], known_until=now
            )
            for split in self.logs
        }

    def heads(self) -> dict[str, Head]:
        return self._first(lambda event_time: True)

    def first_after(self, event_time: int) -> dict[str, Head]:
        self.asked.append(event_time)
        return self._first(lambda candidate: candidate > event_time)

    def highest(self) -> dict[str, int]:
        credible = {
            split: [t for t in self.logs[split][:end] if t not in self.incredible] for split, end in self.ends.items()
        }
        return {split: max(times) for split, times in credible.items() if times}

    def _first(self, wanted: Callable[[int], bool]) -> dict[str, Head]:
        """The first credible unread record that is wanted; an incredible one goes with the credible
        one behind it.
        """
        found = {}
        for split, log in self.logs.items():
            start = self.positions[split]
            for offset in range(start, self.ends[split]):
                if log[offset] in self.incredible:
                    continue
                if wanted(log[offset]):
                    found[split] = Head(start, log[offset])
                    break
                start = offset + 1
        return found
