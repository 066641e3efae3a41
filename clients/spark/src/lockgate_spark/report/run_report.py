"""The report of one run in mode observe: takes each batch, logs the paragraph at the end, and keeps
the files where a folder is given. A report only informs, so nothing here raises.
"""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from lockgate_spark.logs.requests import Offsets
from lockgate_spark.report.files import ReportFiles
from lockgate_spark.report.findings import BatchLoss, Findings, QueryShape, RunState, StateOperator
from lockgate_spark.report.observation import Beside, Observation
from lockgate_spark.report.sentences import paragraph
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")


class ObservedQuery(Protocol):
    """A run, as Spark shows it to a report."""

    @property
    def name(self) -> str | None:
        """The query's name, if it was given one."""

    @property
    def query_id(self) -> str:
        """Spark's id of the query."""

    @property
    def run_id(self) -> str:
        """Spark's id of this run."""

    def operators(self) -> tuple[object, Iterable[StateOperator]] | None:
        """Which progress report is the last one, and its stateful operators; None before there is
        one.
        """

    def shape(self) -> QueryShape:
        """Return which rows the query can lose, by its plan, which must be known."""


class RunReport:
    """The report of one run. `folder`: for its files, if any. `clock`: wall clock in seconds;
    `ticks`: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        run: ObservedQuery,
        folder: Path | None,
        clock: Callable[[], float],
        ticks: Callable[[], float],
        in_group: bool = False,
    ) -> None:
        self._run, self._clock = run, clock
        self._observation = Observation(run.name, run.query_id, run.run_id, clock(), in_group=in_group)
        self._beside: Callable[[], Beside] = Beside
        self._shaped = False
        self._files = None if folder is None else ReportFiles(folder, run.name, run.query_id, self.findings, ticks)

    def count_beside(self, beside: Callable[[], Beside]) -> None:
        """Who gives the figures that others count."""
        self._beside = beside

    def not_counted(self, why: str) -> None:
        """Late rows are not counted, and why."""
        self._observation.uncounted = why

    def read(self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None) -> None:
        """Spark reads a source on; see `Observation.read`."""
        if not self._shaped:
            self._shaped, self._observation.shape = True, self._run.shape()
        self._observation.read(source, start, end, view, budget, self._clock())
        if self._files is not None:
            self._files.refresh()

    def after_batch(self, source: int, batch: BatchLoss | None) -> None:
        """Take in that a batch of a source is done. `batch`: its late rows, if counted."""
        if batch is not None:
            self._observation.lose(source, batch, self._clock())
        self._observation.done(self._clock())
        self._look_at_operators()
        if self._files is not None:
            self._files.refresh()

    def findings(self, state: RunState) -> Findings:
        """All that is known by now."""
        return self._observation.findings(state, self._clock(), self._beside())

    def finish(self, failed: bool) -> None:
        """At the end of the run: logs the paragraph, and writes the files for the last time."""
        self._look_at_operators()
        found = self.findings(RunState.FAILED if failed else RunState.ENDED)
        level = logging.INFO if found.loss.most == 0 else logging.WARNING
        place = "" if self._files is None else f" The report is {self._files.path}."
        log.log(level, "mode observe: %s%s", paragraph(found), place)
        if self._files is not None:
            self._files.write(found.state)

    def _look_at_operators(self) -> None:
        last = self._run.operators()
        if last is not None:
            self._observation.operate(*last)
