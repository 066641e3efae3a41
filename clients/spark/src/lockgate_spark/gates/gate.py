"""One run of a gated query, whose batches wait until the group allows them.

Spark chooses a batch before its event times can be seen. So the whole batch waits on its way to the
user's function.

**The rule.** A batch with event times `lowest` to `highest` is passed on once the group's ceiling
is at least `lowest`. So the batch exceeds the ceiling by at most its own span.

**The report.** Let `top` be the highest event time so far, including this batch, and let `disorder`
be the out-of-orderness. No record still to come is older than min(lowest, top - disorder). While a
batch waits or is processed, the watermark is this time - 1, and the proposed target is the batch's
`highest`. After the batch, the watermark is top - disorder - 1. A group's `max_drift` is larger
than `disorder`, so if a gate blocks its group, the gate's own batch begins below the ceiling and is
passed on. Therefore, as long as any query has a batch, some query continues.

**Out of order.** The report is wrong if a later batch contains records below it. The group has then
gone on without these records.

**Idle.** A gate cannot see whether the source has more records. If no batch with an event time
comes within `idle_timeout` and the trigger's interval, it blocks no other query until the next one.
"""

import logging
import threading
import time
from collections.abc import Callable

from lockgate import watermark
from lockgate.duration import spoken, spoken_s
from lockgate.plan.model import Limit
from lockgate_http.errors import AlignmentError
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.event_times import Span
from lockgate_spark.spark_run import SparkRun
from lockgate_spark.telemetry.progress_metrics import Gauges, gauges
from lockgate_spark.telemetry.view import BatchAlignment
from lockgate_spark.telemetry.waits import Waits, check_max_wait, for_member

log = logging.getLogger("lockgate")

STEP_MS = 100  # `query.stop()` is answered within one step
_LOOK_AGAIN_S = 1.0


class Gate:
    """One run of a gated query. `now` is a monotonic clock, in seconds. `shown` are its gauges, and
    `view` describes how the group limited the batch that was passed on last, if it has event times.
    """

    def __init__(
        self,
        alignment: Alignment,
        run: SparkRun,
        membership: Membership,
        now: Callable[[], float] = time.monotonic,
        shown: Gauges | None = None,
    ) -> None:
        self.alignment, self.run, self.membership = alignment, run, membership
        self._now, self._shown = now, shown
        self.view: BatchAlignment | None = None
        self._bounds = bounds_of(alignment)
        self._idle_after_s = self._bounds.idle_timeout / 1000 + run.interval_s
        self.waits = Waits(f"{membership.source}/0", now)
        self._top = watermark.MIN
        self._batch: Span | None = None  # the one that waits or is processed
        self._below = 0  # the furthest that a batch lay below the report, of those that were warned of
        self._busy = False  # with a batch, even one without event times
        self._since = now()  # when the last batch was done
        self._lock = threading.Lock()  # reports leave in the order in which they were made
        self.closed = False
        self.watcher = threading.Thread(target=self.watch, name=f"lockgate-gate-{membership.source}", daemon=True)

    def admit(self, span: Span | None, step: Callable[[], None], batch_id: int = 0) -> None:
        """Wait until a batch may be passed on. A batch without event times (`span` is None) does
        not wait. `step` is called again and again while the batch waits: it sleeps for a moment,
        and raises an error to end the wait. Raises the errors of `Membership.exchange`, and
        `WaitedTooLong` under AvailableNow.
        """
        began = self._now()
        with self._lock:
            self._busy, self.view = True, None
            if span is None:
                return
            self._check_order(span, batch_id)
            self._top, self._batch = max(self._top, span.highest), span
            ceiling = self._exchange()
        waited = ceiling < span.lowest
        while ceiling < span.lowest:
            self.waits.seen(for_member(self.membership, span.lowest))
            waited_s = self._now() - began
            self._show(self._describe(span, ceiling, waited), waited_s)
            if self.run.available_now:
                what = f"the batch from {watermark.instant(span.lowest)} on has waited for {spoken_s(waited_s)}"
                check_max_wait(self.alignment, waited_s, what, self.membership.last)
            step()
            with self._lock:
                ceiling = self._exchange()
        self.waits.seen(None, span.highest)
        self.view = self._describe(span, ceiling, waited)
        self._show(self.view)

    def done(self) -> None:
        """Report to the group that the last batch admitted by `admit` has been processed. Errors of
        the report are only logged; if they persist, `admit` raises them for the next batch.
        """
        with self._lock:
            self._busy = False
            if self._batch is not None:
                self._batch, self._since = None, self._now()
                self._report()

    def tick(self) -> None:
        """Report to the group between two batches, so that it does not wait for an idle gate."""
        with self._lock:
            if not self._busy:
                self._report()

    def watch(self) -> None:
        """Call `tick` once a second until the run has ended, then close the gate."""
        try:
            while not self.run.ends_within(_LOOK_AGAIN_S):
                self.tick()
            failed = self.run.failed()
        except Exception as error:
            log.debug("the JVM has ended, and the query with it: %s", error)
            failed = True
        self.close(failed)

    def close(self, failed: bool) -> None:
        """Close the gate, and report to the group that its reader is finished, or parked under
        AvailableNow with `Coordinator(park=…)`. If the run has `failed`, nothing is reported, and
        the reader keeps its lease for the restart.
        """
        self.waits.close()
        with self._lock:
            status = self._status()
        if self._shown is not None:
            self._shown.close()
        self.membership.close(None if failed or status is None else {0: status}, returns=self.run.available_now)
        self.closed = True

    # -- inside; with the lock held --

    def _status(self) -> SourceStatus | None:
        """Return the report to the group; None without an event time, until a batch is overdue."""
        batch = self._batch
        if batch is None and self._now() - self._since >= self._idle_after_s:
            return SourceStatus(watermark.MAX, None, idle=True)
        if self._top == watermark.MIN:
            return None
        lowest = self._top - self._bounds.disorder
        if batch is None:
            return SourceStatus(lowest - 1, None)
        # in a group that catches up jointly, with the proposed target
        return SourceStatus(min(lowest, batch.lowest) - 1, batch.highest if self.membership.joint else None)

    def _exchange(self) -> int:
        status = self._status()
        return watermark.MIN if status is None else self.membership.exchange({0: status})

    def _report(self) -> None:
        try:
            self._exchange()
        except AlignmentError as error:
            log.debug("reporting %s between two batches failed: %s", self.membership.source, error)

    # -- what a user sees --

    def _check_order(self, span: Span, batch_id: int) -> None:
        """Warn if a batch begins more than `max_drift` below the reported watermark, and again if a
        later one begins more than twice as far below it.
        """
        reported = watermark.add(self._top, -self._bounds.disorder - 1)
        below, drift = reported - span.lowest, self.membership.max_drift or self._bounds.max_drift
        if below <= max(drift, 2 * self._below):
            return
        self._below = below
        log.warning(
            "batch %d has event times from %s to %s, but the gate had already reported the watermark %s, %s after "
            "the earliest of them. So the group did not wait for this batch, and its rows may be late. Make the source "
            "return rows in the order of event time (files: by modification time), or set max_out_of_orderness to "
            "at least %s and the group's max_drift above it",
            batch_id,
            *map(watermark.instant, (*span, reported)),
            *map(spoken, (below, self._top - span.lowest)),
        )

    def _show(self, view: BatchAlignment, held_s: float | None = None) -> None:
        if self._shown is not None:
            held = {"blockedByGroup": int(held_s is not None), "pausedMs": round((held_s or 0.0) * 1000)}
            self._shown.show(gauges(view) | held)

    def _describe(self, span: Span, ceiling: int, waited: bool) -> BatchAlignment:
        event = self.membership.last
        return BatchAlignment(
            target=span.highest,
            read_limit=ceiling,
            limited_by=Limit.GROUP if waited else Limit.END,
            partitions=(),
            paused=(),
            resumed=(),
            group_watermark=None if event is None else event.group_watermark,
            blocked_by=() if event is None else event.blocked_by,
            planned_at=time.time(),
            seconds=0.0,
            coordinator=self.membership.coordination,
            operator_pause=self.membership.paused,
        )
