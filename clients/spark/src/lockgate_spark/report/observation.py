"""The figures of a run in observe mode. They are collected batch by batch, and the findings so far
can be requested at any time.

A run may last for months, so the amount of collected data is bounded. There are a few numbers for
each split, and a timeline whose neighbouring moments are merged once it is long.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key
from lockgate_spark.report.findings import (
    Basis,
    BatchLoss,
    Findings,
    Loss,
    Moment,
    PartitionFindings,
    RunState,
    SourceFindings,
    StateOperator,
)
from lockgate_spark.telemetry.view import BatchAlignment, is_unread

AddFigures = Callable[[Findings], Findings]

MOST_MOMENTS = 240
_ROW_BY_ROW = ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin", "transformWithStateExec", "globalLimit")
"""Operators that drop row by row. All others may count after a partial aggregation."""


@dataclass(slots=True)
class _Split:
    offsets: int = 0
    lost: int = 0
    ahead_ms: int = 0
    first: int | None = None  # event time (ms) of its first record
    newest: int | None = None  # event time (ms) below its last batch's first record
    before: int = 0  # offsets that were read up to there

    def look(self, watermark: int, read: int) -> None:
        """Record the state before a batch that reads `read` offsets, which `offsets` already
        counts. Its first record has an event time above `watermark` (ms).
        """
        if self.first is None:
            self.first = watermark + 1
        self.newest, self.before = watermark, self.offsets - read

    @property
    def last(self) -> int | None:
        """The event time (ms) of the last record, estimated from how dense the records before the
        last batch were; None if no plan has seen a record. Until a later batch shows the density,
        this is the first record's event time.
        """
        if self.first is None or self.newest is None or self.newest < self.first or not self.before:
            return self.first
        return self.first + (self.newest - self.first) * self.offsets // self.before


class Observation:
    """Collects the findings about one run, batch by batch. Thread-safe.

    All times are wall-clock times in seconds. `uncounted`, `late_rows_path` and `delay_ms` are as
    in `Findings`.
    """

    def __init__(self, query: str | None, query_id: str, run_id: str, began: float, in_group: bool = False) -> None:
        self.uncounted = ""
        self.late_rows_path: str | None = None
        self.delay_ms: int | None = None
        self._found = Findings(
            query=query, query_id=query_id, run_id=run_id, began=began, until=began, in_group=in_group
        )
        self._lost = 0
        self._splits: dict[Key, _Split] = defaultdict(_Split)
        self._reads: dict[Key, int] = {}  # the offsets of its last batch
        self._sources: dict[int, SourceFindings] = {}
        self._moments: list[Moment] = []
        self._merge = 1  # so many batches go into one moment
        self._view: BatchAlignment | None = None  # of the batch that is read
        self._round: set[int] = set()  # the sources of that batch
        self._operators: Counter[str] = Counter()
        self._progress: object = None
        self._exact = True  # the lost rows of each batch are exact
        self._reads_since: float | None = None  # wall clock; None between two batches
        # A signal may come while its own thread is in here.
        self._lock = threading.RLock()

    def read(
        self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None, at: float
    ) -> None:
        """Add a batch that Spark reads from a source, between the offsets `start` and `end`.

        `view` shows the plan made for the same batch; it is None if no plan could be made. `budget`
        is the source's maxOffsetsPerTrigger.
        """
        with self._lock:
            read = {split: max(0, to - start.get(split, 0)) for split, to in end.items()}
            for split, offsets in read.items():
                self._splits[source, split].offsets += offsets
                self._reads[source, split] = offsets
            total, mine = sum(read.values()), self._sources.get(source) or SourceFindings(source, budget, 0, 0)
            self._sources[source] = SourceFindings(source, budget, mine.offsets + total, max(mine.largest_batch, total))
            if total:
                self._begin_batch(source, view, at)

    def _begin_batch(self, source: int, view: BatchAlignment | None, at: float) -> None:
        if self._round and source not in self._round and view is self._view:
            self._round.add(source)  # a further source of the same batch
            return
        self._round, self._view = {source}, view
        self._reads_since = at
        self._add(Moment(at, apart_ms=None if view is None else self._look(view)))

    def _look(self, view: BatchAlignment) -> int:
        """Record the state of the partitions with unread records before a batch. Return the largest
        distance (ms) between their first unread records.
        """
        self._found = replace(
            self._found,
            out_of_orderness_ms=max([self._found.out_of_orderness_ms, *(p.out_of_orderness for p in view.partitions)]),
            too_late=max(self._found.too_late, view.rows_too_late),
        )
        unread = [each for each in view.partitions if is_unread(each)]
        lowest = min((each.watermark for each in unread), default=0)
        for each in unread:
            mine = self._splits[each.source, each.partition]
            mine.ahead_ms = max(mine.ahead_ms, each.watermark - lowest)
            mine.look(each.watermark + each.out_of_orderness, self._reads.get((each.source, each.partition), 0))
        return max((each.watermark - lowest for each in unread), default=0)

    def lose(self, source: int, batch: BatchLoss, at: float) -> None:
        """Add the late rows of the last batch of a source."""
        with self._lock:
            for split, rows in batch.lost.items():
                self._splits[source, split].lost += rows
            lost = sum(batch.lost.values())
            self._lost += lost
            self._exact = self._exact and batch.exact
            below = 0 if batch.oldest is None else batch.watermark - batch.oldest
            self._found = replace(self._found, lateness_ms=max(self._found.lateness_ms, below))
            if not self._moments:  # a batch that Spark replays has no plan in this run
                self._add(Moment(at))
            last = self._moments[-1]
            self._moments[-1] = replace(last, lost=last.lost + lost, watermark=max(last.watermark, batch.watermark))

    def done(self, at: float) -> None:
        """Add the duration of the last batch. A second call for the same batch does nothing."""
        with self._lock:
            if self._reads_since is not None:
                self._found = replace(self._found, busy_s=self._found.busy_s + max(0.0, at - self._reads_since))
                self._reads_since = None

    def _add(self, moment: Moment) -> None:
        self._found = replace(self._found, batches=self._found.batches + 1)
        if self._moments and self._moments[-1].batches < self._merge:
            self._moments[-1] = self._moments[-1].with_next(moment)
            return
        self._moments.append(moment)
        if len(self._moments) > MOST_MOMENTS:
            pairs = zip(self._moments[::2], [*self._moments[1::2], None], strict=False)
            self._moments = [one if two is None else one.with_next(two) for one, two in pairs]
            self._merge *= 2

    def operate(self, progress: object, operators: Iterable[StateOperator]) -> None:
        """Add the rows that the stateful operators of a progress report have dropped. `progress`
        identifies the report. A second call for the same report does nothing.
        """
        with self._lock:
            if progress == self._progress:
                return
            self._progress = progress
            for operator in operators:
                self._operators[operator.name] += operator.dropped
                if operator.repeated and operator.dropped > 0:
                    self._found = replace(self._found, repeated=True)

    def findings(self, state: RunState, until: float, beside: AddFigures) -> Findings:
        """Return the findings so far. `beside` adds the figures that are counted elsewhere."""
        with self._lock:
            found = beside(self._found)
            lost = None if self.uncounted else self._lost
            return replace(
                found,
                state=state,
                until=until,
                rows=sum(source.offsets for source in self._sources.values()),
                loss=loss_of(lost, self._exact, self._operators, found.repeated, found.batches > 0, found.seen),
                uncounted=self.uncounted,
                late_rows_path=self.late_rows_path,
                operators=dict(self._operators),
                delay_ms=self.delay_ms,
                partitions=tuple(
                    PartitionFindings(source, split, mine.offsets, mine.lost, mine.ahead_ms, mine.first, mine.last)
                    for (source, split), mine in sorted(self._splits.items())
                ),
                sources=tuple(mine for _, mine in sorted(self._sources.items())),
                moments=tuple(self._moments),
            )


def loss_of(lost: int | None, exact: bool, operators: Mapping[str, int], repeated: bool, ran: bool, seen: bool) -> Loss:
    """Return the bounds on the number of rows lost.

    An operator's count may exceed the number of late rows: it counts a row each time that a batch
    is computed, and counts every copy of a row that the query has multiplied.

    Args:
        lost: Number of rows dropped as late; None if they were not counted.
        exact: False if `lost` is an upper bound.
        operators: Number of rows that each stateful operator has dropped, by its own count.
        repeated: As in `StateOperator`.
        ran: Whether a batch has run.
        seen: Whether the query's watermarks are on the event time that alignment uses.
    """
    told = sum(operators.values())
    if not operators and (ran or lost == 0):
        return Loss(Basis.STATELESS, 0, 0)
    if lost is not None and exact:
        return Loss(Basis.ROWS, lost, lost)
    row_by_row = all(name in _ROW_BY_ROW for name in operators)
    most = lost if seen else None
    if row_by_row and not repeated and (most is None or told <= most):
        return Loss(Basis.OPERATORS, told, told)
    if row_by_row:
        most = told if most is None else min(told, most)
    too_much = repeated or row_by_row or (most is not None and told > most)
    return Loss(Basis.UNCOUNTED if lost is None else Basis.BETWEEN, 0 if too_much else told, most)
