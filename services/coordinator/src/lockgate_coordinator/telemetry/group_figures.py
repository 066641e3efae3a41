"""The figures of groups in one scrape. `service.group_scrape` fills them in, `group_metrics` writes
them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lockgate.wire.events import ReaderFacts, SplitReport


@dataclass(slots=True)
class SourceFigures:
    """The figures of one source. `foremost` is the highest watermark of its active readers, in ms.

    The others join the facts of its readers: the sum of counts, the least time left, the largest
    lag, and the event-time rate of the slowest active reader. None if no reader reports it.
    """

    foremost: int | None = None
    waiting: int = 0
    overdue: int = 0
    late_rows: int | None = None
    rows_saved: int | None = None
    retention_left_ms: int | None = None
    producer_lag_ms: int | None = None
    event_time_rate: int | None = None

    def take(self, facts: ReaderFacts, now_ms: int, *, reads: bool) -> None:
        """Add the facts of one reader. `reads`: it is active."""
        self.late_rows = _joined(sum, self.late_rows, facts.late_rows)
        self.rows_saved = _joined(sum, self.rows_saved, facts.rows_saved)
        self.producer_lag_ms = _joined(max, self.producer_lag_ms, facts.producer_lag_ms)
        if facts.retained_until is not None:
            self.retention_left_ms = _joined(min, self.retention_left_ms, max(0, facts.retained_until - now_ms))
        if reads:
            self.event_time_rate = _joined(min, self.event_time_rate, facts.event_time_rate)


def _joined(rule: Callable[[list[int]], int], *values: int | None) -> int | None:
    """Return `rule` applied to the values that are not None; None if there are none."""
    there = [value for value in values if value is not None]
    return rule(there) if there else None


@dataclass(slots=True)
class GroupFigures:
    """Readers and splits are counted by their state. `watermark` and `ceiling` are in ms, and may
    be MIN or MAX. `named_splits` are source, subtask, split, and the split's last report.
    `assignments`: of each source with an enumerator, how many splits are in each state.
    """

    name: str
    revision: int
    watermark: int
    ceiling: int
    missing_sources: int
    readers: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    sources: dict[str, SourceFigures] = field(default_factory=dict)
    named_splits: list[tuple[str, int, str, SplitReport]] = field(default_factory=list)
    assignments: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Scrape:
    """The groups of one scrape. `unreadable`: the names of those that cannot be read.
    `more_groups`: there are others beyond the limit. `complete`: the
    store answered for all of them. So far this process made `commits` of `commands`.
    """

    groups: list[GroupFigures] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    more_groups: bool = False
    complete: bool = True
    commits: int = 0
    commands: int = 0
    exchanges: int = 0
