"""Follow one run in mode observe, batch by batch, and give its findings at any time.

A run may last for months, so what is kept is bounded: a few numbers for each split, and a timeline
whose neighbours are merged once it is long.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key
from lockgate_spark.report.findings import (
    Basis,
    BatchLoss,
    Findings,
    Loss,
    Moment,
    PartitionFindings,
    QueryShape,
    RunState,
    SourceFindings,
    StateOperator,
)
from lockgate_spark.telemetry.view import BatchAlignment

MOST_MOMENTS = 240
_ROW_BY_ROW = ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin", "transformWithStateExec", "globalLimit")
"""Operators that drop row by row. All others may count after a partial aggregation."""


@dataclass(slots=True)
class _Split:
    offsets: int = 0
    late: int = 0
    lost: int = 0
    ahead_ms: int = 0
    first: int | None = None  # event time (ms) of its first record
    newest: int | None = None  # event time (ms) below its last batch's first record
    before: int = 0  # offsets that were read up to there

    def look(self, watermark: int, read: int) -> None:
        """Before `read` offsets more are read, the first of them above `watermark` (ms)."""
        if self.first is None:
            self.first = watermark + 1
        self.newest, self.before = watermark, self.offsets - read

    @property
    def last(self) -> int | None:
        """The event time (ms) of its last record, at the density of those before its last batch."""
        if self.first is None or self.newest is None or self.newest < self.first or not self.before:
            return self.first
        return self.first + (self.newest - self.first) * self.offsets // self.before


@dataclass(slots=True)
class _Source:
    budget: int | None = None
    offsets: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What others have counted beside: fields of `Findings` of the same names."""

    ahead: int = 0
    offsets_ahead: int = 0
    left_out: int = 0
    max_drift_ms: int = 0
    failed_plans: bool = False
    seen: bool = True  # as in `QueryShape`


@dataclass(slots=True)
class Observation:
    """One run. `began`: wall clock in seconds. `uncounted`: why late rows are not counted; empty
    where they are. Thread-safe.
    """

    query: str | None
    query_id: str
    run_id: str
    began: float
    uncounted: str = ""
    in_group: bool = False
    shape: QueryShape = field(default_factory=QueryShape)
    _splits: dict[Key, _Split] = field(default_factory=lambda: defaultdict(_Split))
    _reads: dict[Key, int] = field(default_factory=dict)  # the offsets of its last batch
    _sources: dict[int, _Source] = field(default_factory=lambda: defaultdict(_Source))
    _moments: list[Moment] = field(default_factory=list)
    _merge: int = 1  # so many batches go into one moment
    _view: BatchAlignment | None = None  # of the batch that is read
    _round: set[int] = field(default_factory=set)  # the sources of that batch
    _operators: Counter[str] = field(default_factory=Counter)
    _progress: object = None
    _whole: bool = True  # the lost rows of each batch are exact
    _counted_once: bool = True
    _repeated: bool = False  # an operator has counted a row of some batch twice
    _early: int = 0
    _untimed: int = 0
    _busy: float = 0.0
    _reads_since: float | None = None  # wall clock; None between two batches
    _rows: int = 0
    _batches: int = 0
    _late: int = 0
    _lost: int = 0
    _lateness: int = 0
    _out_of_orderness: int = 0
    _too_late: int = 0
    # A signal may come while its own thread is in here.
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def read(
        self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None, at: float
    ) -> None:
        """Spark reads a source on from `start` to `end`. `view`: of the plan beside it; None where
        none could be made. `at`: wall clock in seconds.
        """
        with self._lock:
            read = {split: max(0, to - start.get(split, 0)) for split, to in end.items()}
            for split, offsets in read.items():
                self._splits[source, split].offsets += offsets
                self._reads[source, split] = offsets
            total, mine = sum(read.values()), self._sources[source]
            mine.budget, mine.offsets, mine.largest = budget, mine.offsets + total, max(mine.largest, total)
            if total:
                self._begin_batch(source, view, at)

    def _begin_batch(self, source: int, view: BatchAlignment | None, at: float) -> None:
        if self._round and source not in self._round and view is self._view:
            self._round.add(source)  # a further source of the same batch
            return
        self._round, self._view = {source}, view
        self._batches += 1
        self._reads_since = at
        self._add(Moment(at, apart_ms=None if view is None else self._look(view)))

    def _look(self, view: BatchAlignment) -> int:
        """Return how far apart (ms) the partitions are that have something to read."""
        self._out_of_orderness = max([self._out_of_orderness, *(each.out_of_orderness for each in view.partitions)])
        self._too_late = max(self._too_late, view.rows_too_late)
        unread = [p for p in view.partitions if p.end > p.position or p.next_event_time is not None]
        lowest = min((each.watermark for each in unread), default=0)
        for each in unread:
            mine = self._splits[each.source, each.partition]
            mine.ahead_ms = max(mine.ahead_ms, each.watermark - lowest)
            mine.look(each.watermark + each.out_of_orderness, self._reads.get((each.source, each.partition), 0))
        return max((each.watermark - lowest for each in unread), default=0)

    def lose(self, source: int, batch: BatchLoss, at: float) -> None:
        """Note the late rows of the batch that was read last. `at`: wall clock in seconds."""
        with self._lock:
            for split, late in batch.late.items():
                mine = self._splits[source, split]
                mine.late, mine.lost = mine.late + late, mine.lost + batch.lost.get(split, 0)
            late, lost = sum(batch.late.values()), sum(batch.lost.values())
            self._rows, self._late, self._lost = self._rows + batch.rows, self._late + late, self._lost + lost
            self._early, self._untimed = self._early + batch.early, self._untimed + batch.untimed
            self._whole = self._whole and (batch.exact or not late)
            self._counted_once = self._counted_once and (batch.counted_once or not late)
            if batch.oldest is not None:
                self._lateness = max(self._lateness, batch.watermark - batch.oldest)
            if not self._moments:  # a batch that Spark replays has no plan in this run
                self._batches += 1
                self._add(Moment(at))
            last = self._moments[-1]
            self._moments[-1] = replace(
                last, late=last.late + late, lost=last.lost + lost, watermark=max(last.watermark, batch.watermark)
            )

    def done(self, at: float) -> None:
        """Note that the batch that was read last is done. `at`: wall clock in seconds."""
        with self._lock:
            if self._reads_since is not None:
                self._busy += max(0.0, at - self._reads_since)
                self._reads_since = None

    def _add(self, moment: Moment) -> None:
        if self._moments and self._moments[-1].batches < self._merge:
            self._moments[-1] = self._moments[-1].with_next(moment)
            return
        self._moments.append(moment)
        if len(self._moments) > MOST_MOMENTS:
            pairs = zip(self._moments[::2], [*self._moments[1::2], None], strict=False)
            self._moments = [one if two is None else one.with_next(two) for one, two in pairs]
            self._merge *= 2

    def operate(self, progress: object, operators: Iterable[StateOperator]) -> None:
        """Note the stateful operators of a progress report; the same `progress` is noted once."""
        with self._lock:
            if progress == self._progress:
                return
            self._progress = progress
            for operator in operators:
                self._operators[operator.name] += operator.dropped
                self._repeated = self._repeated or (operator.repeated and operator.dropped > 0)

    def findings(self, state: RunState, until: float, beside: Beside) -> Findings:
        """All that is known by now. `until`: wall clock in seconds."""
        with self._lock:
            offsets = sum(source.offsets for source in self._sources.values())
            whole = self.shape.whole and self._whole and self._counted_once
            shape = replace(self.shape, seen=beside.seen, whole=whole)
            late = None if self.uncounted else self._late
            dropped = Dropped(dict(self._operators), self._repeated)
            return Findings(
                query=self.query,
                query_id=self.query_id,
                run_id=self.run_id,
                state=state,
                began=self.began,
                until=until,
                rows=offsets if self.uncounted else self._rows,
                batches=self._batches,
                loss=loss_of(late, self._lost, self._early, dropped, self._batches > 0, shape),
                late=late,
                uncounted=self.uncounted,
                late_exact=self._counted_once,
                early=self._early,
                untimed=self._untimed,
                repeated=self._repeated,
                lateness_ms=self._lateness,
                operators=dict(self._operators),
                shape=shape,
                max_drift_ms=beside.max_drift_ms,
                out_of_orderness_ms=self._out_of_orderness,
                too_late=self._too_late,
                left_out=beside.left_out,
                ahead=beside.ahead,
                offsets_ahead=beside.offsets_ahead,
                busy_s=self._busy,
                failed_plans=beside.failed_plans,
                in_group=self.in_group,
                partitions=tuple(
                    PartitionFindings(
                        source, split, mine.offsets, mine.late, mine.lost, mine.ahead_ms, mine.first, mine.last
                    )
                    for (source, split), mine in sorted(self._splits.items())
                ),
                sources=tuple(
                    SourceFindings(i, mine.budget, mine.offsets, mine.largest)
                    for i, mine in sorted(self._sources.items())
                ),
                moments=tuple(self._moments),
            )


@dataclass(frozen=True, slots=True)
class Dropped:
    """What each stateful operator says that it dropped. `repeated`: as of `StateOperator`."""

    by_operator: Mapping[str, int]
    repeated: bool = False


def loss_of(late: int | None, lost: int, early: int, dropped: Dropped, ran: bool, shape: QueryShape) -> Loss:
    """Return the rows lost.

    `late` rows were behind the watermark (None: not counted), `lost` ones of them had their window
    behind it, and `early` ones are before 1970. `ran`: whether a batch has run.

    No more rows are lost than are late or before 1970 (`most`). An operator may report more: it
    counts a row each time that a batch is computed, and rows that the query has multiplied.
    """
    operators, told = dropped.by_operator, sum(dropped.by_operator.values())
    if not operators and (ran or late == 0):
        return Loss(Basis.STATELESS, 0, 0)
    row_by_row = all(name in _ROW_BY_ROW for name in operators)
    most = None if late is None or not shape.seen else late + early
    if row_by_row and not dropped.repeated and (most is None or told <= most):
        return Loss(Basis.OPERATORS, told, told)
    if shape.whole and most is not None and len(operators) == 1:
        return Loss(Basis.WINDOWS, lost, lost + early)
    if row_by_row:
        most = told if most is None else min(told, most)
    too_much = dropped.repeated or row_by_row or (most is not None and told > most)
    return Loss(Basis.UNCOUNTED if late is None else Basis.BETWEEN, 0 if too_much else told, most)
