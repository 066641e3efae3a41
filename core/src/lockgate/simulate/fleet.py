"""The queries of one group in virtual time.

**The model.** Each query plans, reads, and plans again, as in Spark. Plans are made by the real
code: the query's draft (`lockgate.plan.draft`) has its watermark and its reach, which are reported
to the group. The group's turn (`lockgate.group.turn`) returns the ceiling, and the draft is cut
there. A batch takes `overhead_ms` and the time of its records. What a batch has read counts when it
is done, as in Spark's progress. A query that may read nothing plans again when the ceiling has
moved, or after `POLL_MS`.

**What is left out.** Reports and announcements take `ANNOUNCE_MS`. Nothing fails, no lease ends,
brokers answer at once. Records of a split are in order of event time; a query's out-of-orderness
only lowers its watermark.

Two queries of one group read in parallel at full speed, since they do not share a machine.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.errors import InvalidValue
from lockgate.group.commands import Register, Reports
from lockgate.group.group import Group, create
from lockgate.group.now import Now
from lockgate.group.turn import turn
from lockgate.simulate.readers import AlignedReader, NativeReader, VirtualReader
from lockgate.simulate.workload import Workload
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent

R = TypeVar("R", bound=VirtualReader)

POLL_MS = 1_000
ANNOUNCE_MS = 50
LEASE_MS = 10**15
MOST_STEPS = 2_000_000
"""The most plans in one simulation. A workload that takes more is described wrongly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a simulated workload. `max_drift_ms` is None for plain Spark.

    `peak_drift_ms` is the largest difference between the last event times read from a query's
    splits, at the end of any batch, over splits that are begun and not finished. `peak_lead_ms` is
    how far a batch reads beyond another query's first unread record, at most. `state_rows` is each
    query's most rows in open windows, summed up. `seconds` passed until the last query was done.
    `longest_wait_ms` is from a live record's append to the end of its batch.
    """

    max_drift_ms: int | None
    rows: int
    lost: int
    peak_drift_ms: int
    peak_lead_ms: int
    state_rows: int
    seconds: float
    batches: int
    longest_wait_ms: int

    @property
    def rows_per_second(self) -> float:
        """The rows of all queries together, per second."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


def native(workload: Workload, progress: Callable[[float], None] = lambda _: None) -> RunOutcome:
    """Return the outcome under plain Spark. `progress` is called with the share done, 0 to 1."""
    readers = [NativeReader(query.in_kinds(), workload.begin) for query in workload.queries]
    timeline = _Timeline(workload, readers, progress)
    for reader, now in timeline:
        ends = reader.batch(now)
        if ends is None:
            timeline.look_again(reader, now)
        else:
            timeline.reads(reader, ends, now)
    return timeline.outcome(None)


def aligned(workload: Workload, max_drift: int, progress: Callable[[float], None] = lambda _: None) -> RunOutcome:
    """Return the outcome of the workload under alignment with this `max_drift` (ms). Raises
    `InvalidValue` if that is not above a query's out-of-orderness.
    """
    for query in workload.queries:
        if max_drift <= query.disorder_ms:
            raise InvalidValue(
                "max_drift",
                f"must be greater than the out-of-orderness of query {query.name}, {spoken(query.disorder_ms)}",
            )
    readers = [AlignedReader(query.in_kinds(), workload.begin, max_drift) for query in workload.queries]
    timeline = _Timeline(workload, readers, progress)
    group = _Group(workload, max_drift)
    for reader, now in timeline:
        draft = reader.draft(now)
        watermarks = draft.reported_watermarks()
        ceiling, moved = group.report(reader, min(watermarks.values()), draft.reach if workload.joint else None, now)
        if moved:
            timeline.wake_waiting(reader, now + ANNOUNCE_MS)
        plan = draft.plan(ceiling)
        if plan.offsets:
            timeline.reads(reader, reader.ends_of(plan), now)
        elif reader.is_done:
            if group.finish(reader, now):
                timeline.wake_waiting(reader, now + ANNOUNCE_MS)
            timeline.ends(reader, now)
        else:
            timeline.look_again(reader, now)
    return timeline.outcome(max_drift)


class _Group:
    """The fleet's alignment group, which takes turns as in a coordinator."""

    def __init__(self, workload: Workload, max_drift: int) -> None:
        # A query may have any name, a source may not.
        self._names = {query.name: f"query-{number}" for number, query in enumerate(workload.queries)}
        config = GroupConfig(
            max_drift_ms=max_drift,
            lease_ms=LEASE_MS,
            catch_up=CatchUp.JOINT if workload.joint else CatchUp.STRICT,
            expected_sources=tuple(self._names.values()),
        )
        self._group: Group = create("simulated", config, workload.begin)
        self._epochs: dict[str, int] = {}
        for name in self._names.values():
            self._turn(Register(name, ReaderRegistrationEvent(subtask=0)), workload.begin)
            self._epochs[name] = self._group.readers[(name, 0)].epoch

    def report(self, reader: VirtualReader, at: int, reach: int | None, now: int) -> tuple[int, bool]:
        """Return the ceiling after a report, and whether the report has moved it."""
        name = self._names[reader.load.name]
        event = ReportedWatermarkEvent(subtask=0, epoch=self._epochs[name], watermark=at, reach=reach)
        return self._turn(Reports([(name, event)]), now)

    def finish(self, reader: VirtualReader, now: int) -> bool:
        """Report that a reader has finished, and return whether that moved the ceiling."""
        name = self._names[reader.load.name]
        event = ReportedWatermarkEvent(
            subtask=0, epoch=self._epochs[name], watermark=watermark.MAX, idle=True, finished=True
        )
        return self._turn(Reports([(name, event)]), now)[1]

    def _turn(self, command: Register | Reports, now: int) -> tuple[int, bool]:
        done = turn(self._group, [command], Now(now))
        before, self._group = self._group.revision, done.group
        return done.event.max_desired_watermark, done.event.revision != before


class _Timeline(Generic[R]):
    """The order in which readers act. Iterating yields each reader that is to plan, with the time
    (wall clock, ms). The caller then calls `reads`, `look_again` or `ends` for it.
    """

    def __init__(self, workload: Workload, readers: list[R], progress: Callable[[float], None]) -> None:
        self._workload, self._readers, self._progress = workload, readers, progress
        self._now = workload.begin
        self._numbers = {reader.load.name: number for number, reader in enumerate(readers)}
        self._batches: dict[int, Mapping[str, int]] = {}
        self._began: dict[int, int] = {}
        self._drift = self._lead = self._read = self._serial = 0
        self._events: list[tuple[int, int, int]] = []
        self._due: dict[int, int] = {}
        self._waiting: set[int] = set()  # readers that had nothing to read when they looked last
        for number in range(len(readers)):
            self._at(number, self._now)

    def __iter__(self) -> Iterator[tuple[R, int]]:
        for step in range(MOST_STEPS):
            if not self._events:
                self._progress(1.0)
                return
            now, serial, number = heapq.heappop(self._events)
            if self._due.get(number) != serial:
                continue  # it was woken earlier
            del self._due[number]
            self._waiting.discard(number)
            self._now, reader = now, self._readers[number]
            batch = self._batches.pop(number, None)
            if batch is not None:
                self._commit(reader, batch)
                due = self._began[number] + reader.load.trigger_ms
                if now < due:
                    self._at(number, due)
                    continue
            if not step % 64:
                self._progress(self._read / max(1, self._workload.records))
            yield reader, now
        raise InvalidValue("workload", f"it takes more than {MOST_STEPS:,} plans: give larger batches or a trigger")

    def reads(self, reader: R, ends: Mapping[str, int], now: int) -> None:
        """Begin the reader's batch up to these offsets."""
        number = self._numbers[reader.load.name]
        self._batches[number], self._began[number] = ends, now
        unread = [first for each in self._readers if each is not reader and (first := each.first_unread()) is not None]
        self._lead = max([self._lead, *(reader.highest_in(ends) - first for first in unread)])
        self._at(number, now + max(1, round(reader.seconds(ends) * 1000)))

    def look_again(self, reader: R, now: int) -> None:
        """Record that the reader has nothing to read for now, or has read all."""
        if reader.is_done:
            self.ends(reader, now)
        else:
            number = self._numbers[reader.load.name]
            self._waiting.add(number)
            self._at(number, now + max(POLL_MS, reader.load.trigger_ms))

    def ends(self, reader: R, now: int) -> None:
        """Record that the reader has read all that there will be."""
        reader.tally.done_at = now

    def wake_waiting(self, but: R, at: int) -> None:
        """Let the waiting readers except `but` plan again at `at`, as the ceiling has moved."""
        for number, reader in enumerate(self._readers):
            if reader is not but and number in self._waiting:
                self._at(number, at)

    def outcome(self, max_drift: int | None) -> RunOutcome:
        """Return the outcome of all readers together."""
        tallies = [reader.tally for reader in self._readers]
        done = max(tally.done_at for tally in tallies if tally.done_at is not None)
        return RunOutcome(
            max_drift_ms=max_drift,
            rows=sum(tally.rows for tally in tallies),
            lost=sum(tally.lost for tally in tallies),
            peak_drift_ms=self._drift,
            peak_lead_ms=self._lead,
            state_rows=sum(tally.state_rows for tally in tallies),
            seconds=(done - self._workload.begin) / 1000,
            batches=sum(tally.batches for tally in tallies),
            longest_wait_ms=max(tally.longest_wait_ms for tally in tallies),
        )

    def _at(self, number: int, time: int) -> None:
        self._serial += 1
        self._due[number] = self._serial
        heapq.heappush(self._events, (time, self._serial, number))

    def _commit(self, reader: R, batch: Mapping[str, int]) -> None:
        before = reader.tally.rows
        reader.read(batch, self._now)
        self._read += reader.tally.rows - before
        self._drift = max(self._drift, reader.drift())
