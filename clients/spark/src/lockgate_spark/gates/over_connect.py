"""A gated batch over Connect: the function runs in a process of the server, without a JVM."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

from lockgate_http.errors import AlignmentError
from lockgate_spark.connect.asking import LACKS, ask, hinted, translated
from lockgate_spark.errors import Stopped, UnsupportedQuery
from lockgate_spark.event_times import TIME

log = logging.getLogger("lockgate")


@dataclass(frozen=True, slots=True)
class ConnectRun:
    """One run of one query of a session of Connect."""

    session: Any
    query_id: str
    run_id: str
    name: str | None
    available_now: bool
    interval_s: float
    in_group: bool

    def is_active(self) -> bool:
        """Return false once the query was stopped."""
        query = self._query()
        return query is not None and bool(query.isActive)

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the run, at most that long; return whether it has come."""
        query = self._query()
        try:
            return query is None or bool(query.awaitTermination(max(1, round(seconds))))
        except PySparkException:
            return True  # it has ended with an error

    def failed(self) -> bool:
        """Return whether the run has ended with an error."""
        query = self._query()
        return query is not None and query.exception() is not None

    def _query(self) -> Any | None:
        query = self.session.streams.get(self.query_id)
        return query if query is not None and str(query.runId) == self.run_id else None


class ConnectSide:
    """What a gate needs of the session of a batch."""

    def run_of(self, batch: Any) -> ConnectRun:
        """Return the run of the batch's query. Raises `UnsupportedQuery`."""
        return ConnectRun(batch.sparkSession, **ask(batch, "query"))

    def in_group(self, run: ConnectRun) -> bool:
        """Return whether its sources are aligned in a group already."""
        return run.in_group

    def gauges(self, batch: Any, run: ConnectRun) -> None:
        """Spark's metrics system is in the driver alone."""

    def times(self, batch: Any, event_time: str) -> Any:
        """Return the event times of a batch, the column `TIME`. The server makes the column: only
        there an expression can be tried. Raises `UnsupportedQuery` without its extension.
        """
        times = hinted(batch, "times", event_time=event_time)
        with translated():
            made = times.columns == [TIME]
        if not made:
            raise UnsupportedQuery(LACKS)
        return times

    def check_running(self, batch: Any, run: ConnectRun) -> None:
        """Raise `Stopped` after `query.stop()`."""
        if not run.is_active():
            raise Stopped()

    @contextmanager
    def log_errors_briefly(self) -> Iterator[None]:
        """Log an error as one sentence, before Spark shows it with its stack."""
        try:
            yield
        except AlignmentError as error:
            log.error("%s: %s", type(error).__name__, error)
            raise
