"""Collects the figures of one run in observe mode batch by batch, logs a paragraph at the end, and
writes the files if a folder is given.

A run may last for months, so the amount of collected data is bounded. There are a few numbers for
each split, and a timeline whose neighbouring moments are merged once it is long.
"""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key
from lockgate_spark.report.files import ReportFiles, folder_of
from lockgate_spark.report.findings import (
    BatchLoss,
    Findings,
    Moment,
    PartitionFindings,
    RunState,
    SourceFindings,
    StateOperator,
    loss_of,
)
from lockgate_spark.report.sentences import paragraph
from lockgate_spark.spark_run import SparkRun
from lockgate_spark.telemetry.view import BatchAlignment, is_unread

log = logging.getLogger("lockgate")

AddFigures = Callable[[Findings], Findings]

MOST_MOMENTS = 240


@dataclass(slots=True)
class _Split:
    offsets: int = 0
    lost: int = 0
    ahead_ms: int = 0
    first: int | None = None  # event time (ms) of its first record
    newest: int | None = None  # event time (ms) below its last batch's first record
    before: int = 0  # offsets that were read up to there

    def look(self, watermark: int, read: int) -> None:
        """Store how far the split was read before a batch: `watermark` (ms) is 1 ms below the event
        time of the batch's first record. The batch reads `read` offsets, which `offsets` already
        includes.
        """
        if self.first is None:
            self.first = watermark + 1
        self.newest, self.before = watermark, self.offsets - read

    @property
    def last(self) -> int | None:
        """The event time (ms) of the last record, estimated from the density of the records before
        the last batch. It is the first record's event time until two batches have shown a density,
        and None if no plan has seen a record.
        """
        if self.first is None or self.newest is None or self.newest < self.first or not self.before:
            return self.first
        return self.first + (self.newest - self.first) * self.offsets // self.before


class ReportedRun(SparkRun, Protocol):
    """A run with the counts of its stateful operators, and the delay of its watermarks."""

    def operators(self) -> tuple[object, Iterable[StateOperator]] | None:
        """Return a key that identifies Spark's last progress report, and the report's stateful
        operators; None before the first report.
        """

    def delay_ms(self) -> int | None:
        """Return the shortest delay (ms) of the query's watermarks; None if the query has no
        watermark. Spark must have planned the query.
        """


class RunReport:
    """Collects and reports the figures of one run. Thread-safe. Raises `ConfigurationError` if the
    folder for its files cannot be written. `clock` is the wall clock, in seconds.
    """

    def __init__(self, run: ReportedRun, alignment: Alignment, clock: Callable[[], float] = time.time) -> None:
        self._run, self._clock, folder = run, clock, folder_of(alignment.report)
        self._beside: AddFigures = lambda found: found
        self._found = Findings(
            query=run.name,
            query_id=run.query_id,
            run_id=run.run_id,
            began=clock(),
            in_group=alignment.coordinator is not None,
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
        self._files = None if folder is None else ReportFiles(folder, run.name, run.query_id, self.findings)

    def count_beside(self, beside: AddFigures) -> None:
        """Set the function that adds figures from other parts of the run to the findings, such as
        the number of records left out. `findings` calls this function.
        """
        self._beside = beside

    def not_counted(self, why: str) -> None:
        """Set the reason why late rows are not counted."""
        with self._lock:
            self._found = replace(self._found, uncounted=why)

    def keeps_late_rows(self, path: str) -> None:
        """Set the path of the table in which late rows are kept."""
        with self._lock:
            self._found = replace(self._found, late_rows_path=path)

    def read(self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None) -> None:
        """Add a batch that Spark reads from a source, between the offsets `start` and `end`, and
        refresh the files.

        `view` shows the plan made for the same batch; it is None if no plan could be made. `budget`
        is the source's maxOffsetsPerTrigger.
        """
        delay_ms = self._found.delay_ms if self._sources else self._run.delay_ms()
        with self._lock:
            self._found = replace(self._found, delay_ms=delay_ms)
            read = {split: max(0, to - start.get(split, 0)) for split, to in end.items()}
            for split, offsets in read.items():
                self._splits[source, split].offsets += offsets
                self._reads[source, split] = offsets
            total, mine = sum(read.values()), self._sources.get(source) or SourceFindings(source, budget, 0, 0)
            self._sources[source] = SourceFindings(source, budget, mine.offsets + total, max(mine.largest_batch, total))
            if total:
                self._begin_batch(source, view)
        self._refresh()

    def _begin_batch(self, source: int, view: BatchAlignment | None) -> None:
        if self._round and source not in self._round and view is self._view:
            self._round.add(source)  # a further source of the same batch
            return
        self._round, self._view = {source}, view
        self._reads_since = self._clock()
        self._add(Moment(self._reads_since, apart_ms=None if view is None else self._look(view)))

    def _look(self, view: BatchAlignment) -> int:
        """Store how far the partitions with unread records were read before a batch. Return the
        largest distance (ms) in event time between their first unread records.
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

    def after_batch(self, source: int, batch: BatchLoss | None) -> None:
        """Add a finished batch of a source, and refresh the files. `batch` has the batch's late
        rows; it is None if they are not counted.
        """
        with self._lock:
            if batch is not None:
                self._lose(source, batch)
            if self._reads_since is not None:
                busy_s = self._found.busy_s + max(0.0, self._clock() - self._reads_since)
                self._found, self._reads_since = replace(self._found, busy_s=busy_s), None
        self._look_at_operators()
        self._refresh()

    def _lose(self, source: int, batch: BatchLoss) -> None:
        for split, rows in batch.lost.items():
            self._splits[source, split].lost += rows
        lost = sum(batch.lost.values())
        self._lost += lost
        self._exact = self._exact and batch.exact
        below = 0 if batch.oldest is None else batch.watermark - batch.oldest
        self._found = replace(self._found, lateness_ms=max(self._found.lateness_ms, below))
        if not self._moments:  # a batch that Spark replays has no plan in this run
            self._add(Moment(self._clock()))
        last = self._moments[-1]
        self._moments[-1] = replace(last, lost=last.lost + lost, watermark=max(last.watermark, batch.watermark))

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

    def _look_at_operators(self) -> None:
        """Add the numbers of rows that the stateful operators have dropped, from Spark's last
        progress report. Do nothing if this report was already added.
        """
        last = self._run.operators()
        with self._lock:
            if last is None or last[0] == self._progress:
                return
            self._progress, operators = last
            for operator in operators:
                self._operators[operator.name] += operator.dropped
                if operator.repeated and operator.dropped > 0:
                    self._found = replace(self._found, repeated=True)

    def _refresh(self) -> None:
        if self._files is not None:
            self._files.refresh()

    def findings(self, state: RunState) -> Findings:
        """Return the findings so far, for a run in this `state`."""
        with self._lock:
            found = self._beside(self._found)
            lost = None if found.uncounted else self._lost
            return replace(
                found,
                state=state,
                until=self._clock(),
                rows=sum(source.offsets for source in self._sources.values()),
                loss=loss_of(lost, self._exact, self._operators, found.repeated, found.batches > 0, found.seen),
                operators=dict(self._operators),
                partitions=tuple(
                    PartitionFindings(source, split, mine.offsets, mine.lost, mine.ahead_ms, mine.first, mine.last)
                    for (source, split), mine in sorted(self._splits.items())
                ),
                sources=tuple(mine for _, mine in sorted(self._sources.items())),
                moments=tuple(self._moments),
            )

    def finish(self, failed: bool) -> None:
        """Log the findings as a paragraph at the end of the run, and write the files for the last
        time. `failed` says whether the run has failed.
        """
        self._look_at_operators()
        found = self.findings(RunState.FAILED if failed else RunState.ENDED)
        level = logging.INFO if found.loss.most == 0 else logging.WARNING
        place = "" if self._files is None else f" The report is {self._files.path}."
        log.log(level, "mode observe: %s%s", paragraph(found), place)
        if self._files is not None:
            self._files.write(found.state)
