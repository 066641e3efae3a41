"""Figures of groups and readers, for the inspection, the metrics and the charts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lockgate.group.group import Group
from lockgate.group.leases import is_lost, is_parked
from lockgate.group.now import Now
from lockgate.group.reader import Reader, watermark_of
from lockgate.watermark import MAX, MIN

READER_STATES = ("registered", "active", "idle", "parked", "finished", "passed_over", "lost")


@dataclass(slots=True)
class Figures:
    """Figures of some readers of a group, such as those of a source.

    The attributes from `late_rows` on combine the `ReaderFacts` of all readers that have not
    finished. They are None if no reader reports them.

    Attributes:
        states: The number of readers in each state.
        waiting: The number of readers that wait at the ceiling.
        overdue: The number of readers that have waited for longer than `max_wait_ms`.
        lowest: The lowest watermark of all readers, in ms, or MAX without readers.
        foremost: The highest watermark of an active reader, in ms, or MIN without one.
        late_rows: The sum of late rows.
        rows_saved: The sum of saved rows.
        retention_left_ms: The shortest time until Kafka deletes unread records.
        producer_lag_ms: The largest lag of a producer.
        event_time_rate: The lowest event-time rate of an active reader.
    """

    states: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    overdue: int = 0
    lowest: int = MAX
    foremost: int = MIN
    late_rows: int | None = None
    rows_saved: int | None = None
    retention_left_ms: int | None = None
    producer_lag_ms: int | None = None
    event_time_rate: int | None = None

    def take(self, group: Group, reader: Reader, now_ms: int) -> str:
        """Add the figures of one reader, and return the reader's state."""
        state, reported = state_of(group, reader, now_ms), reader.reported
        self.states[state] += 1
        self.waiting += reader.held_since is not None
        self.overdue += reader.overdue
        self.lowest = min(self.lowest, watermark_of(reader))
        if state == "active" and reported is not None and reported.watermark < MAX:
            self.foremost = max(self.foremost, reported.watermark)
        facts = None if reported is None or reported.finished else reported.facts
        if facts is not None:
            self.late_rows = _joined(sum, self.late_rows, facts.late_rows)
            self.rows_saved = _joined(sum, self.rows_saved, facts.rows_saved)
            self.producer_lag_ms = _joined(max, self.producer_lag_ms, facts.producer_lag_ms)
            left_ms = None if facts.retained_until is None else max(0, facts.retained_until - now_ms)
            self.retention_left_ms = _joined(min, self.retention_left_ms, left_ms)
            rate = facts.event_time_rate if state == "active" else None
            self.event_time_rate = _joined(min, self.event_time_rate, rate)
        return state


def _joined(rule: Callable[[list[int]], int], *values: int | None) -> int | None:
    """Return `rule` applied to the values that are not None, or None if there are none."""
    there = [value for value in values if value is not None]
    return rule(there) if there else None


def state_of(group: Group, reader: Reader, now_ms: int) -> str:
    """Return a reader's state, one of `READER_STATES`."""
    reported = reader.reported
    if reported is None:
        return "lost" if is_lost(reader, group.config, Now(now_ms)) else "registered"
    if reader.lost:
        return "lost"
    if reported.finished:
        return "finished"
    if reader.passed_over:
        return "passed_over"
    return "parked" if is_parked(reader) else "idle" if reported.idle else "active"


@dataclass(slots=True)
class GroupFigures:
    """The figures of one group in a scrape by Prometheus.

    Attributes:
        watermark: The group watermark in ms. It is MIN or MAX if the group has none.
        ceiling: The ceiling in ms. It is MIN while an expected source has not reported, and MAX if
            there is no ceiling.
        missing_sources: The number of expected sources that have not reported.
        sources: The figures of the readers of each source.
        splits: The number of reported splits in each state.
        assignments: For each source with an enumerator, the number of its splits in each state.
    """

    name: str
    revision: int
    watermark: int
    ceiling: int
    missing_sources: int
    sources: dict[str, Figures] = field(default_factory=dict)
    splits: Counter[str] = field(default_factory=Counter)
    assignments: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def readers(self) -> Counter[str]:
        """The number of readers in each state."""
        return sum((source.states for source in self.sources.values()), Counter[str]())


@dataclass(slots=True)
class Scrape:
    """The figures of one scrape by Prometheus.

    Attributes:
        groups: The figures of each group.
        unreadable: The names of the groups that cannot be read.
        more_groups: Whether the store has more groups than a scrape counts.
        complete: Whether the store answered for all groups.
        commits, commands, exchanges: The totals of this process so far.
    """

    groups: list[GroupFigures] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    more_groups: bool = False
    complete: bool = True
    commits: int = 0
    commands: int = 0
    exchanges: int = 0
