"""`gate`: a foreachBatch function that holds each batch of any query until the query's group allows
it.
"""

import atexit
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.align import check_coordinator, joined, session_of
from lockgate_spark.conf import configured, enabled
from lockgate_spark.config import Alignment
from lockgate_spark.errors import ConfigurationError, UnsupportedQuery
from lockgate_spark.group.client import CoordinatorClient
from lockgate_spark.jvm.batch import check_running, look, persisted, stoppable
from lockgate_spark.jvm.metrics import spark_gauges
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.planning.gate_observed import ObservedGate
from lockgate_spark.planning.gates import STEP_MS, Gate, Span, open_gates

log = logging.getLogger("lockgate")

Work = Callable[[DataFrame, int], object]
"""A foreachBatch function."""


def gate(fn: Work, event_time: str | None = None, alignment: Alignment | None = None) -> Work:
    """`fn`, for `foreachBatch` of a query on any source, so that each batch waits until the group's
    ceiling allows its lowest event time.

    `event_time`: a Spark SQL expression over the batch's columns, a TIMESTAMP or a BIGINT of ms
    since 1970; also `Alignment(event_time)`. `alignment` has the `coordinator`, without which there
    is nobody to wait for. The batch is persisted while its event times are looked at, and until
    `fn` has returned. Raises `ConfigurationError`, `UnsupportedQuery` and `CoordinatorRefused`.
    """
    spark = SparkSession.active()
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedQuery(
            "this is a Spark Connect session: its foreachBatch runs where no JVM can be reached, and gate() needs one"
        )
    conf = spark.conf.getAll
    if not enabled(conf):
        return fn
    alignment = _checked(event_time, alignment or Alignment())
    alignment = configured(alignment, conf)
    if alignment.event_time is None:
        raise ConfigurationError(
            'gate(event_time): not set; expected a Spark SQL expression over the batch\'s columns, such as "ts"'
        )
    if alignment.coordinator is None:
        raise ConfigurationError(
            "gate(alignment): it has no Coordinator, and without a group there is nobody to wait for; expected"
            ' Alignment(coordinator=Coordinator("http://HOST:PORT", group=…)), or spark.lockgate.coordinator.url '
            "and .group"
        )
    if alignment.observes:
        return _Observed(fn, alignment, alignment.event_time)
    check_coordinator(alignment)
    return _Gated(fn, alignment, alignment.event_time)


def _checked(event_time: str | None, alignment: Alignment) -> Alignment:
    """With the event time. Raises `ConfigurationError` for what a gate cannot do: it cuts no
    batches, and reads nothing.
    """
    if alignment.slice is not None:
        raise ConfigurationError(
            f"Alignment(slice={alignment.slice!r}): a gate holds batches and cuts none; leave slice out"
        )
    if alignment.late_rows == "count":
        raise ConfigurationError(
            "Alignment(late_rows='count'): a gate sees batches behind Spark's watermark; leave late_rows out"
        )
    if event_time is None:
        return alignment
    if alignment.event_time not in (None, event_time):
        raise ConfigurationError(
            f"gate(event_time={event_time!r}) and Alignment(event_time={alignment.event_time!r}): set one of them"
        )
    return replace(alignment, event_time=event_time)


class _Looking:
    """Looks at each batch before it is handed on. May serve several queries, and runs of one."""

    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        self._fn, self._alignment, self._event_time = fn, alignment, event_time
        self._warned = False

    def _look(self, batch: DataFrame, batch_id: int) -> Span | None:
        span, left_out = look(batch, self._event_time, self._alignment.credible(int(time.time() * 1000)))
        if left_out and not self._warned:
            self._warned = True
            log.warning(
                "batch %d: %d rows are stamped beyond future_bound (%s) or past_bound (%s). They and others like "
                "them hold nobody, and go"
                " along with their batch",
                batch_id,
                left_out,
                self._alignment.future_bound,
                self._alignment.past_bound,
            )
        return span


class _Gated(_Looking):
    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        spark = batch.sparkSession
        run = QueryRun.of_batch(batch)
        own = self._gate(batch, run)

        def step() -> None:
            own.membership.wait_for_change(STEP_MS)
            check_running(spark, run)

        with persisted(batch):
            with stoppable(run):
                own.admit(self._look(batch, batch_id), step)
            self._fn(batch, batch_id)
            own.done()

    def _gate(self, batch: DataFrame, run: QueryRun) -> Gate:
        def make() -> Gate:
            aligned = session_of(batch)
            if aligned is not None and aligned.membership is not None:
                raise UnsupportedQuery(
                    "the query is aligned in a group already, split by split: leave gate() out, or align()"
                )
            membership = joined(self._alignment, run)
            assert membership is not None  # there is a coordinator, and nothing is only observed
            made = Gate(
                self._alignment, run, membership, shown=spark_gauges(run, batch.sparkSession.sparkContext._gateway)
            )
            threading.Thread(target=made.watch, name=f"lockgate-gate-{membership.source}", daemon=True).start()
            return made

        return open_gates.at(run.query_id, run.run_id, make)


class _Observed(_Looking):
    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        super().__init__(fn, alignment, event_time)
        assert alignment.coordinator is not None
        self._coordinator = alignment.coordinator
        self._account = ObservedGate(self._ask)
        log.info("mode observe: a gate tells what it would hold, and holds nothing")

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        with persisted(batch):
            self._account.see(self._look(batch, batch_id))
            self._fn(batch, batch_id)

    def _ask(self) -> WatermarkAlignmentEvent:
        with CoordinatorClient(self._coordinator) as client:
            return client.alignment()


atexit.register(
    open_gates.see_out
)  # a script may end with its query: what its gate has to say at the end is said first
