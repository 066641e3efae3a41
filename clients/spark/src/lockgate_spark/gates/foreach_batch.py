"""The foreachBatch functions that `gate` returns: one waits, the other only observes."""

import atexit
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from lockgate import watermark
from lockgate_http.calls.answers import NotRegistered
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.errors import AlignmentError, ConfigurationError
from lockgate_spark.config import Alignment, credible_at
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.event_times import TIME, Credible, Span
from lockgate_spark.gates.gate import STEP_MS, Gate
from lockgate_spark.gates.sessions import event_times, gauges_of, run_of
from lockgate_spark.joining import joined, warn_of_trigger
from lockgate_spark.running import running
from lockgate_spark.spark_run import SparkRun, stoppable
from lockgate_spark.telemetry.waits import blocked_by

log = logging.getLogger("lockgate")

Work = Callable[[DataFrame, int], object]
"""A foreachBatch function."""

_LAST_WORD_S = 10.0
# a type that is event time, and its SQL for ms
_MILLIS = {"timestamp": "unix_millis({})", "long": "{}"}


@contextmanager
def _log_errors_briefly() -> Iterator[None]:
    """Log an error of lockgate as one sentence: Spark shows it below Python's traceback."""
    try:
        yield
    except AlignmentError as error:
        log.debug("a foreachBatch function failed", exc_info=error)
        log.error("%s: %s", type(error).__name__, error)
        raise


def look(times: DataFrame, event_time: str, credible: Credible) -> tuple[Span | None, int]:
    """Return the range of a batch's credible event times, if there are any, and the number of rows
    without a credible event time, from one aggregate. `times` has only the column `TIME`, the
    result of the SQL expression `event_time`.
    """
    kind = times.schema[0].dataType.typeName()
    if kind not in _MILLIS:
        raise ConfigurationError(
            f"gate(event_time={event_time!r}): it is of type {kind}, and event time is a TIMESTAMP, or a BIGINT "
            "of ms since 1970"
        )
    ms = times.selectExpr(f"{_MILLIS[kind].format(TIME)} AS ms")
    taken = f"ms BETWEEN {credible.earliest} AND {credible.latest}"
    row = ms.selectExpr(
        f"min(ms) FILTER (WHERE {taken}) AS lowest",
        f"max(ms) FILTER (WHERE {taken}) AS highest",
        f"count_if(ms IS NULL OR NOT ({taken})) AS left_out",
    ).collect()[0]
    return None if row["lowest"] is None else Span(row["lowest"], row["highest"]), row["left_out"]


@contextmanager
def _persisted(batch: DataFrame) -> Iterator[None]:
    """Persist the batch inside the `with` block, so that its source is read only once."""
    level = batch.storageLevel
    ours = not level.useMemory and not level.useDisk
    if ours:
        batch.persist()
    try:
        yield
    finally:
        if ours:
            batch.unpersist()


class _WithEventTimes:
    """A foreachBatch function with event times, for one or several queries and runs."""

    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        self._fn, self._alignment, self._event_time = fn, alignment, event_time
        self._warned = False

    def _inspect(self, batch: DataFrame, batch_id: int) -> Span | None:
        times = event_times(batch, self._event_time)
        span, left_out = look(times, self._event_time, credible_at(self._alignment, int(time.time() * 1000)))
        if left_out and not self._warned:
            self._warned = True
            said = "batch %d: the gate ignores %d rows, which have no event time between past_bound and future_bound"
            log.warning(said, batch_id, left_out)
        return span


class GatedFunction(_WithEventTimes):
    """Passes each batch to the user's function once the query's group allows it."""

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        with _log_errors_briefly():
            run = run_of(batch)
            gate = self._gate(run)

        def step() -> None:
            gate.membership.wait_for_change(STEP_MS)
            run.check_active()

        with _persisted(batch):
            with _log_errors_briefly(), stoppable(run):
                gate.admit(self._inspect(batch, batch_id), step, batch_id)
            self._fn(batch, batch_id)
            gate.done()

    def _gate(self, run: SparkRun) -> Gate:
        def make() -> Gate:
            if run.in_group:
                raise UnsupportedQuery("align() has put this query into a group already: remove gate() or align()")
            warn_of_trigger(self._alignment, run.available_now)
            membership = joined(self._alignment, run)
            assert membership is not None  # there is a coordinator, and nothing is only observed
            made = Gate(self._alignment, run, membership, shown=gauges_of(run))
            made.watcher.start()
            return made

        return running.of_run(Gate, run.query_id, run.run_id, make)


class ObservedFunction(_WithEventTimes):
    """Logs whether a gate would have delayed each batch. It does not join the group, because a
    reader that reports would make other queries wait.
    """

    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        super().__init__(fn, alignment, event_time)
        assert alignment.coordinator is not None
        self._coordinator = alignment.coordinator
        self._batches = self._delayed = 0
        self._would_wait = self._failed = False
        log.info("mode observe: the gate delays no batch, and logs which ones it would have delayed")

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        with _persisted(batch):
            span = self._inspect(batch, batch_id)
            if span is not None:
                self._compare(span)
            self._fn(batch, batch_id)

    def _compare(self, span: Span) -> None:
        """Log whether a batch would wait, if this differs from the previous batch."""
        try:
            with CoordinatorClient(self._coordinator) as client:
                event = client.alignment()
        except NotRegistered:  # the group does not exist yet
            event = None
        except AlignmentError as error:
            level = logging.DEBUG if self._failed else logging.WARNING
            log.log(level, "mode observe: cannot get the read limit of the group: %s", error)
            self._failed = True
            return
        waits = event is not None and span.lowest > event.max_desired_watermark
        self._batches, self._delayed = self._batches + 1, self._delayed + waits
        if waits == self._would_wait:
            return
        self._would_wait = waits
        would = "would not wait"
        if event is not None and waits:
            would = f"would wait at {watermark.instant(event.max_desired_watermark)}; {blocked_by(event)}"
        said = "mode observe: the batch that begins at %s %s (%d of %d batches so far)"
        log.info(said, watermark.instant(span.lowest), would, self._delayed, self._batches)


@atexit.register
def _see_out() -> None:
    """Wait for the last reports, which a script that ends right after its query would lose."""
    for gate in running.all_of(Gate):
        if not gate.closed and gate.run.ends_within(0):
            gate.watcher.join(_LAST_WORD_S)
