"""The foreachBatch functions that `gate` returns: one holds batches, one only observes."""

import atexit
import logging
import threading
import time
from collections.abc import Callable

from pyspark.sql import DataFrame

from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_http.calls.client import CoordinatorClient
from lockgate_spark.config import Alignment, credible_at
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.event_times import Span
from lockgate_spark.gates.gate import STEP_MS, Gate
from lockgate_spark.gates.looks import look, persisted
from lockgate_spark.gates.observed import ObservedGate
from lockgate_spark.gates.sides import BatchRun, Side, side_of
from lockgate_spark.group.joining import joined
from lockgate_spark.ineffective import warn_of_trigger
from lockgate_spark.running import running
from lockgate_spark.stopping import stoppable
from lockgate_spark.telemetry.left_out import bound

log = logging.getLogger("lockgate")

Work = Callable[[DataFrame, int], object]
"""A foreachBatch function."""


class _WithEventTimes:
    """A foreachBatch function that reads the event times of each batch before `fn` gets it. One
    object may serve several queries, and several runs of one.
    """

    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        self._fn, self._alignment, self._event_time = fn, alignment, event_time
        self._warned = False

    def _inspect(self, batch: DataFrame, batch_id: int) -> Span | None:
        times = side_of(batch).times(batch, self._event_time)
        span, left_out = look(times, self._event_time, credible_at(self._alignment, int(time.time() * 1000)))
        if left_out and not self._warned:
            self._warned = True
            log.warning(
                "batch %d: %d rows have no usable event time: it is missing, before 1970, or beyond future_bound (%s) "
                "or past_bound (%s). These rows stay in the batch, but the gate ignores them",
                batch_id,
                left_out,
                bound(self._alignment.future_bound),
                bound(self._alignment.past_bound),
            )
        return span


class GatedFunction(_WithEventTimes):
    """Hands each batch on once the query's group allows it."""

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        side = side_of(batch)
        with side.log_errors_briefly():
            run = side.run_of(batch)
            gate = self._gate(batch, run, side)

        def step() -> None:
            gate.membership.wait_for_change(STEP_MS)
            side.check_running(batch, run)

        with persisted(batch):
            with side.log_errors_briefly(), stoppable(run):
                gate.admit(self._inspect(batch, batch_id), step, batch_id)
            self._fn(batch, batch_id)
            gate.done()

    def _gate(self, batch: DataFrame, run: BatchRun, side: Side) -> Gate:
        def make() -> Gate:
            if side.in_group(run):
                raise UnsupportedQuery(
                    "the query is already aligned in a group by align(): remove either gate() or align()"
                )
            warn_of_trigger(self._alignment, run.available_now)
            membership = joined(self._alignment, run)
            assert membership is not None  # there is a coordinator, and nothing is only observed
            made = Gate(self._alignment, run, membership, shown=side.gauges(batch, run))
            threading.Thread(target=made.watch, name=f"lockgate-gate-{membership.source}", daemon=True).start()
            return made

        return running.of_run(Gate, run.query_id, run.run_id, make)


class ObservedFunction(_WithEventTimes):
    """Hands each batch on at once, and logs whether a gate would have held it."""

    def __init__(self, fn: Work, alignment: Alignment, event_time: str) -> None:
        super().__init__(fn, alignment, event_time)
        assert alignment.coordinator is not None
        self._coordinator = alignment.coordinator
        self._observed = ObservedGate(self._ask)
        log.info("mode observe: the gate delays no batch, and logs which ones it would have delayed")

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        with persisted(batch):
            self._observed.see(self._inspect(batch, batch_id))
            self._fn(batch, batch_id)

    def _ask(self) -> WatermarkAlignmentEvent:
        with CoordinatorClient(self._coordinator) as client:
            return client.alignment()


@atexit.register
def _see_out() -> None:
    """Wait, before the process ends, for the last report of each gate whose run has ended: a script
    may end right after its query.
    """
    for gate in running.all_of(Gate):
        gate.see_out()
