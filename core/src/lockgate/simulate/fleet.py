"""A simulation of the queries of one group in virtual time.

**The model.** Each query plans, reads, and plans again, as in Spark.

* Plans are made by the real code: the query reports the watermark and the proposed target (`reach`)
  of its draft (`lockgate.plan.draft`), and the group's turn (`lockgate.group.turn`) returns the
  ceiling.
* A batch takes `overhead_ms` plus the time for its records. Its rows are counted once it is done,
  as in Spark's progress.
* A query that has nothing to read plans again when the ceiling has moved, or after `POLL_MS`.
* Each query reads at full speed, as if it had a machine of its own.

**Simplifications.** A new ceiling reaches the other queries after `ANNOUNCE_MS`. Nothing fails, no
lease ends, and brokers answer at once. Records of a split are in order of event time; a query's
out-of-orderness only lowers its watermark.
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
"""The maximum number of plans in one simulation. A workload that needs more is rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a simulated workload.

    Attributes:
        max_drift_ms: The alignment's limit on the drift, or None for plain Spark.
        rows: The number of rows that were read.
        lost: The number of these rows that were late.
        peak_drift_ms: The largest `VirtualReader.drift` of any query after any batch.
        peak_lead_ms: The largest amount by which a batch's highest event time exceeded the first
            unread record of another query.
        state_rows: The sum of the queries' peak numbers of rows in open windows.
        seconds: The virtual time until the last query was done.
        batches: The number of batches.
        longest_wait_ms: The longest time from the append of a live record to the end of its batch.
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
        return self.rows / self.seconds if self.seconds > 0 else 0.0


def native(workload: Workload, progress: Callable[[float], None] = lambda _: None) -> RunOutcome:
    """Return the outcome of `workload` under plain Spark. `progress` is called with the share that
    is done, 0 to 1. Raises `InvalidValue` if the workload takes more than `MOST_STEPS` plans.
    """
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
    """Return the outcome of `workload` if its queries are aligned with `max_drift` (ms). `progress`
    is as in `native`. Raises `InvalidValue` if `max_drift` is not above each query's
    out-of-orderness, or if the workload takes more than `MOST_STEPS` plans.
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
            timeline.reads(reader, {name: split.end for name, split in plan.splits.items()}, now)
            continue
        if reader.is_done and group.report(reader, watermark.MAX, None, now, finished=True)[1]:
            timeline.wake_waiting(reader, now + ANNOUNCE_MS)
        timeline.look_again(reader, now)
    return timeline.outcome(max_drift)


class _Group:
    """The alignment group of the queries, which processes reports as a coordinator does."""

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

    def report(
        self, reader: VirtualReader, at: int, reach: int | None, now: int, *, finished: bool = False
    ) -> tuple[int, bool]:
        """Report a reader at `now` (ms), with its watermark `at` (ms) and its proposed target
        `reach` (ms). `finished` is true if the reader has read everything. Return the ceiling (ms),
        and whether the report has changed the group's revision.
        """
        name = self._names[reader.load.name]
        event = ReportedWatermarkEvent(
            subtask=0, epoch=self._epochs[name], watermark=at, reach=reach, idle=finished, finished=finished
        )
        return self._turn(Reports([(name, event)]), now)

    def _turn(self, command: Register | Reports, now: int) -> tuple[int, bool]:
        done = turn(self._group, [command], Now(now))
        before, self._group = self._group.revision, done.group
        return done.event.max_desired_watermark, done.event.revision != before


class _Timeline(Generic[R]):
    """The order in which readers act, until all are done.

    Iterating yields the reader that plans next, and the virtual time (wall clock, ms). The caller
    must then call `reads` or `look_again` for it. Raises `InvalidValue` after `MOST_STEPS` steps.
    """

    def __init__(self, workload: Workload, readers: list[R], progress: Callable[[float], None]) -> None:
        self._workload, self._readers, self._progress = workload, readers, progress
        self._now = workload.begin
        self._batches: dict[R, tuple[int, Mapping[str, int]]] = {}  # when each one began, and its ends
        self._drift = self._lead = self._read = self._serial = 0
        self._events: list[tuple[int, int, R]] = []
        self._due: dict[R, int] = {}
        self._waiting: set[R] = set()  # readers that had nothing to read when they looked last
        for reader in readers:
            self._at(reader, self._now)

    def __iter__(self) -> Iterator[tuple[R, int]]:
        for step in range(MOST_STEPS):
            if not self._events:
                self._progress(1.0)
                return
            now, serial, reader = heapq.heappop(self._events)
            if self._due.get(reader) != serial:
                continue  # it was woken earlier
            del self._due[reader]
            self._waiting.discard(reader)
            self._now = now
            if reader in self._batches:
                began, ends = self._batches.pop(reader)
                self._commit(reader, ends)
                if now < began + reader.load.trigger_ms:
                    self._at(reader, began + reader.load.trigger_ms)
                    continue
            if not step % 64:
                self._progress(self._read / max(1, self._workload.records))
            yield reader, now
        raise InvalidValue("workload", f"it takes more than {MOST_STEPS:,} plans: give larger batches or a trigger")

    def reads(self, reader: R, ends: Mapping[str, int], now: int) -> None:
        """Begin a batch of the reader at `now` (ms), up to the offset in `ends` of each split."""
        self._batches[reader] = now, ends
        unread = [first for each in self._readers if each is not reader and (first := each.first_unread()) is not None]
        self._lead = max([self._lead, *(reader.highest_in(ends) - first for first in unread)])
        self._at(reader, now + max(1, round(reader.seconds(ends) * 1000)))

    def look_again(self, reader: R, now: int) -> None:
        """Schedule the next plan of a reader that has nothing to read at `now` (ms). If it has read
        all that its splits will ever hold, record instead that it is done.
        """
        if reader.is_done:
            reader.tally.done_at = now
        else:
            self._waiting.add(reader)
            self._at(reader, now + max(POLL_MS, reader.load.trigger_ms))

    def wake_waiting(self, but: R, at: int) -> None:
        """Let all waiting readers except `but` plan at `at` (ms), because the ceiling moved."""
        for reader in self._readers:
            if reader is not but and reader in self._waiting:
                self._at(reader, at)

    def outcome(self, max_drift: int | None) -> RunOutcome:
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

    def _at(self, reader: R, time: int) -> None:
        self._serial += 1
        self._due[reader] = self._serial
        heapq.heappush(self._events, (time, self._serial, reader))

    def _commit(self, reader: R, batch: Mapping[str, int]) -> None:
        before = reader.tally.rows
        reader.read(batch, self._now)
        self._read += reader.tally.rows - before
        self._drift = max(self._drift, reader.drift())
