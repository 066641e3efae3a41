"""Collects the figures of one run in observe mode batch by batch. A run may last for months, so
there are only a few numbers for each split, and a timeline whose neighbouring moments are merged
once it is long.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

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
    loss_of,
)
from lockgate_spark.report.sentences import paragraph
from lockgate_spark.spark_run import Checkpointed
from lockgate_spark.telemetry.view import BatchAlignment, is_unread

log = logging.getLogger("lockgate")

MOST_MOMENTS = 240


class RunReport:
    """Collects and reports the figures of one run. Thread-safe. Raises `ConfigurationError` if the
    folder for its files cannot be written. `clock` is the wall clock, in seconds. Other parts of
    the run set figures of their own in `found`.
    """

    def __init__(self, run: Checkpointed, alignment: Alignment, clock: Callable[[], float] = time.time) -> None:
        self._run, self._clock, folder = run, clock, folder_of(alignment.report)
        in_group = alignment.coordinator is not None
        self.found = Findings(
            query=run.name, query_id=run.query_id, run_id=run.run_id, began=clock(), in_group=in_group
        )
        self._splits: dict[Key, PartitionFindings] = {}
        self._reads: dict[Key, int] = {}  # the offsets of its last batch
        self._sources: dict[int, SourceFindings] = {}
        self._moments: list[Moment] = []
        self._merge = 1  # so many batches go into one moment
        self._view: BatchAlignment | None = None  # of the batch that is read
        self._round: set[int] = set()  # the sources of that batch
        self._progress: object = None  # the report that `_look_at_operators` has seen
        self._exact = True  # the lost rows of each batch are exact
        self._reads_since: float | None = None  # wall clock; None between two batches
        # A signal may come while its own thread is in here.
        self._lock = threading.RLock()
        self._files = None if folder is None else ReportFiles(folder, run.name, run.query_id, self.findings)

    def read(self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None) -> None:
        """Add a batch that Spark reads from a source, between the offsets `start` and `end`, and
        refresh the files. `view` shows the plan for the same batch; it is None if no plan could be
        made. `budget` is the source's maxOffsetsPerTrigger.
        """
        if not self._sources:
            self.found.delay_ms = min((each.delay_ms for each in self._run.watermarks()), default=None)
        with self._lock:
            read = {split: max(0, to - start.get(split, 0)) for split, to in end.items()}
            for split, offsets in read.items():
                self._split(source, split).offsets += offsets
                self._reads[source, split] = offsets
            total, mine = sum(read.values()), self._sources.setdefault(source, SourceFindings(source, budget))
            mine.max_offsets_per_trigger = budget
            mine.offsets += total
            mine.largest_batch = max(mine.largest_batch, total)
            if view is None:
                self.found.failed_plans = True
            else:
                plan = {each.partition: each.end for each in view.partitions if each.source == source}
                ends = ((to, max(plan[split], start.get(split, 0))) for split, to in end.items() if split in plan)
                ahead = sum(max(0, to - planned) for to, planned in ends)
                self.found.ahead += ahead > 0
                self.found.offsets_ahead += ahead
            if total:
                self._begin_batch(source, view)
        self._refresh()

    def _split(self, source: int, split: str) -> PartitionFindings:
        return self._splits.setdefault((source, split), PartitionFindings(source, split))

    def _begin_batch(self, source: int, view: BatchAlignment | None) -> None:
        if self._round and source not in self._round and view is self._view:
            self._round.add(source)  # a further source of the same batch
            return
        self._round, self._view = {source}, view
        self._reads_since = self._clock()
        self._add(Moment(self._reads_since, apart_ms=None if view is None else self._look(view)))

    def _look(self, view: BatchAlignment) -> int:
        """Store how far the partitions were read before a batch. Return the largest distance (ms)
        between their first unread records.
        """
        found = self.found
        found.out_of_orderness_ms = max([found.out_of_orderness_ms, *(p.out_of_orderness for p in view.partitions)])
        found.too_late = max(found.too_late, view.rows_too_late)
        unread = [each for each in view.partitions if is_unread(each)]
        lowest = min((each.watermark for each in unread), default=0)
        for each in unread:
            split, read = self._split(each.source, each.partition), self._reads.get((each.source, each.partition), 0)
            split.ahead_ms = max(split.ahead_ms, each.watermark - lowest)
            split.newest, split.before = each.watermark + each.out_of_orderness, split.offsets - read
            split.first = split.newest + 1 if split.first is None else split.first
        return max((each.watermark - lowest for each in unread), default=0)

    def after_batch(self, source: int, batch: BatchLoss | None) -> None:
        """Add the late rows of a finished batch, None if they are not counted, and refresh the
        files.
        """
        with self._lock:
            if batch is not None:
                for split, rows in batch.lost.items():
                    self._split(source, split).lost += rows
                self._exact = self._exact and batch.exact
                below = 0 if batch.oldest is None else batch.watermark - batch.oldest
                self.found.lateness_ms = max(self.found.lateness_ms, below)
                if not self._moments:  # a batch that Spark replays has no plan in this run
                    self._add(Moment(self._clock()))
                lost = sum(batch.lost.values())
                self._moments[-1].add(Moment(0.0, batches=0, lost=lost, watermark=batch.watermark))
            if self._reads_since is not None:
                self.found.busy_s += max(0.0, self._clock() - self._reads_since)
                self._reads_since = None
        self._look_at_operators()
        self._refresh()

    def _add(self, moment: Moment) -> None:
        self.found.batches += 1
        if self._moments and self._moments[-1].batches < self._merge:
            self._moments[-1].add(moment)
            return
        self._moments.append(moment)
        if len(self._moments) > MOST_MOMENTS:
            for one, two in zip(self._moments[::2], self._moments[1::2], strict=False):
                one.add(two)
            del self._moments[1::2]
            self._merge *= 2

    def _look_at_operators(self) -> None:
        """Add the dropped rows of Spark's last progress report, unless it was already added."""
        last = self._run.operators()
        with self._lock:
            if last is None or last[0] == self._progress:
                return
            self._progress, operators = last
            dropped = Counter(self.found.operators)
            for operator in operators:
                dropped[operator.name] += operator.dropped
                self.found.repeated |= operator.repeated and operator.dropped > 0
            self.found.operators = dropped

    def _refresh(self) -> None:
        if self._files is not None:
            self._files.refresh()

    def findings(self, state: RunState) -> Findings:
        with self._lock:
            found, operators = self.found, self.found.operators
            lost = None if found.uncounted else sum(split.lost for split in self._splits.values())
            return replace(
                found,
                state=state,
                until=self._clock(),
                rows=sum(source.offsets for source in self._sources.values()),
                loss=loss_of(lost, self._exact, operators, found.repeated, found.batches > 0, found.seen),
                partitions=tuple(replace(mine) for _, mine in sorted(self._splits.items())),
                sources=tuple(replace(mine) for _, mine in sorted(self._sources.items())),
                moments=tuple(map(replace, self._moments)),
            )

    def finish(self, failed: bool) -> None:
        """Log a paragraph at the end of the run, and write the files for the last time."""
        self._look_at_operators()
        found = self.findings(RunState.FAILED if failed else RunState.ENDED)
        level = logging.INFO if found.loss.most == 0 else logging.WARNING
        place = "" if self._files is None else f" The report is {self._files.path}."
        log.log(level, "mode observe: %s%s", paragraph(found), place)
        if self._files is not None:
            self._files.write(found.state)
