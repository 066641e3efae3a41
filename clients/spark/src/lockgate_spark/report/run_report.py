"""The report of one run in observe mode. It receives each batch, logs a paragraph at the end, and
writes the files if a folder is given.
"""

import logging
import time
from collections.abc import Iterable
from typing import Protocol

from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.report.files import ReportFiles, folder_of
from lockgate_spark.report.findings import BatchLoss, Findings, RunState, StateOperator
from lockgate_spark.report.observation import AddFigures, Observation
from lockgate_spark.report.sentences import paragraph
from lockgate_spark.spark_run import SparkRun
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")


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
    """The report of one run. It writes files if `alignment` names a folder for them. Raises
    `ConfigurationError` if that folder cannot be written.
    """

    def __init__(self, run: ReportedRun, alignment: Alignment) -> None:
        self._run, folder = run, folder_of(alignment.report)
        in_group = alignment.coordinator is not None
        self._observation = Observation(run.name, run.query_id, run.run_id, time.time(), in_group)
        self._beside: AddFigures = lambda found: found
        self._shaped = False
        self._files = None if folder is None else ReportFiles(folder, run.name, run.query_id, self.findings)

    def count_beside(self, beside: AddFigures) -> None:
        """Set the function that adds the figures of the run that `Observation` does not count."""
        self._beside = beside

    def not_counted(self, why: str) -> None:
        """Set the reason why late rows are not counted."""
        self._observation.uncounted = why

    def keeps_late_rows(self, path: str) -> None:
        """Set the path of the table in which late rows are kept."""
        self._observation.late_rows_path = path

    def read(self, source: int, start: Offsets, end: Offsets, view: BatchAlignment | None, budget: int | None) -> None:
        """Add a batch that Spark reads from a source, and refresh the files. The arguments are
        those of `Observation.read`.
        """
        if not self._shaped:
            self._shaped, self._observation.delay_ms = True, self._run.delay_ms()
        self._observation.read(source, start, end, view, budget, time.time())
        if self._files is not None:
            self._files.refresh()

    def after_batch(self, source: int, batch: BatchLoss | None) -> None:
        """Add a finished batch of a source, and refresh the files. `batch` has the batch's late
        rows; it is None if they are not counted.
        """
        if batch is not None:
            self._observation.lose(source, batch, time.time())
        self._observation.done(time.time())
        self._look_at_operators()
        if self._files is not None:
            self._files.refresh()

    def findings(self, state: RunState) -> Findings:
        """Return the findings so far, for a run in this `state`."""
        return self._observation.findings(state, time.time(), self._beside)

    def finish(self, failed: bool) -> None:
        """Log the paragraph at the end of the run, and write the files for the last time."""
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
