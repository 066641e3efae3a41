"""Plans the batches of one run of a query, for all its aligned sources.

Spark asks the sources one after the other where the next batch ends. The first source in Spark's
order leads: when Spark asks it, the plan for all sources is made, and the others return the ends
that it has set for them. The plan begins at the `start` that Spark passes for the leading source.
For the others, it begins at their last answers, and after a restart, at the offsets in the
checkpoint. While nothing may be read, the answer is `start`, and Spark asks again (`empty_plans`).
"""

import json
import logging
import threading
import time
from collections.abc import Callable, MutableMapping

from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Source
from lockgate_spark.planning.empty_plans import EmptyPlans
from lockgate_spark.planning.look import Begin
from lockgate_spark.planning.planner import Planner
from lockgate_spark.planning.steps import Planned, Query
from lockgate_spark.report.run_report import RunReport
from lockgate_spark.spark_run import Checkpointed
from lockgate_spark.telemetry.progress_metrics import Gauges, gauges
from lockgate_spark.telemetry.view import BatchAlignment, BatchSlice

log = logging.getLogger("lockgate")

_ROUND = "round"  # of the last plan: its leader, and its answers
_SHOW_S = 1.0  # the gauges of a held plan move this often


class AlignedRun:
    """Plans the batches of all aligned sources in one run of a query.

    `clock` is the wall clock and `ticks` a monotonic clock, both in seconds. `sleep` waits for a
    number of seconds; by default, this wait ends early if the run ends. `begin` makes looks ahead
    on another thread, if it is not None. `membership` is None without a group, and in observe mode.
    `kept` is a map that outlives this process: the ends of each plan are stored in it before Spark
    receives any of them, so that another process can continue the run.
    """

    def __init__(
        self,
        alignment: Alignment,
        run: Checkpointed,
        membership: Membership | None = None,
        clock: Callable[[], float] = time.time,
        gauges: Gauges | None = None,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        report: RunReport | None = None,
        kept: MutableMapping[str, str] | None = None,
        begin: Begin | None = None,
    ) -> None:
        self.alignment, self.run, self.membership = alignment, run, membership
        self.sources: dict[int, Source] = {}
        # whether the last report of the executors failed, which was logged
        self.progress_fails = self._report_fails = False
        self._closed = threading.Event()
        self.planner = Planner(Query(alignment, run, membership, self.sources), clock, ticks, begin)
        self._empty_plans = EmptyPlans(self.planner, sleep or self._closed.wait)
        self._gauges = gauges
        self._shown: BatchAlignment | None = None  # by the gauges
        self.report = report
        self._held_plan: Planned | None = None
        self._leader: int | None = None
        self._served: dict[int, Offsets] = {}  # each source's last answer
        # of the last plan, which Spark has not asked for yet
        self._answers: dict[int, Offsets] = {}
        self._kept = kept
        if kept is not None and (text := kept.get(_ROUND)) is not None:
            self._leader, answers = json.loads(text)
            self._answers = {int(i): offsets for i, offsets in answers.items()}
        self._open = 0

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed.is_set()

    @property
    def view(self) -> BatchAlignment | None:
        """The view of the last plan that was carried out; None before the first one."""
        return self.planner.observer.view

    @property
    def held_view(self) -> BatchAlignment | None:
        """The view of the plan that is on hold; None if the query does not wait."""
        held = self._held_plan
        return None if held is None else self.planner.view_of(held, self.planner.clock(), self.view)

    @property
    def max_drift(self) -> int | None:
        """The drift (ms) that plans allow; None before the first plan."""
        return None if self.view is None else self.planner.bounds.now().max_drift

    @property
    def slice(self) -> BatchSlice | None:
        """The windows of the current batch, also of a replayed one; None if they are not known."""
        if self.view is not None:
            return self.view.slice
        slices = self.planner.looker.slices
        return None if slices is None else slices.replayed

    def add(self, index: int, source: Source) -> None:
        """Add `source` to all plans, under the number `index`."""
        self.sources[index] = source
        self._open += 1

    def latest_offset(self, index: int, start: Offsets) -> Offsets:
        """Return the offsets at which the next batch of source `index`, which begins at `start`,
        ends. The call for the leading source makes the plan for all, and may wait until records may
        be read. Raises the errors of `EmptyPlans.wait`.
        """
        if self._leader is None:
            self._leader = index
        if index == self._leader:
            self._answers = {} if self._empty_plans.last_holds() else self._next_round(index, start)
        answer = self._answers.pop(index, start)
        self._serve(index, answer)
        if not self._answers:
            self.planner.look_ahead({i: self._position(i) for i in self.sources})
        return answer

    def observe(self, index: int, start: Offsets, native: Offsets) -> None:
        """Make a plan in observe mode, and compare it with `native`, the offsets up to which Spark
        reads anyway. Errors are only logged.
        """
        view = None
        observer = self.planner.observer
        try:
            self.latest_offset(index, start)
            observer.read_natively(index, start, native)
            view = self.view
        except Exception as error:
            observer.plan_failed(error)
        self._serve(index, native)
        if self.report is not None:
            found = self.report.found
            found.left_out, found.seen = observer.left_out.total(), observer.sees_watermark
            found.max_drift_ms = self.max_drift or 0
        self.tell_report(lambda report: report.read(index, start, native, view, self.sources[index].budget))

    def tell_late(self, index: int, total: int) -> None:
        """Set the number of late rows of source `index` in the run so far."""
        self.planner.late[index] = total
        if self._gauges is not None:
            self._gauges.show({"lateRowsTotal": sum(self.planner.late.values())})

    def tell_report(self, tell: Callable[[RunReport], None]) -> None:
        """Call `tell` with the report, if there is one. Errors are only logged."""
        if self.report is None:
            return
        try:
            tell(self.report)
        except Exception as error:
            level = logging.DEBUG if self._report_fails else logging.WARNING
            log.log(level, "the report of observe mode is incomplete: %s", error)
            self._report_fails = True

    # -- the end --

    def close(self) -> None:
        """Close one source at the end of the query. Closing the last one ends the run (`end`)."""
        self._open -= 1
        if self._open <= 0:
            self.end()

    def end(self) -> None:
        """End the run, once, even while sources are open, because Spark stops no source of a run
        that fails to start. In a group, the readers report that they are finished; after a failure
        they report nothing, and keep their leases for the next run.
        """
        if self._closed.is_set():
            return
        self._closed.set()
        # An error in one of these must not skip the others: a lease that is kept alive would hold
        # the group for ever.
        for close in (
            self.planner.sum_up,
            self._leave,
            lambda: self.tell_report(lambda report: report.finish(self.run.failed())),
            *(() if self._gauges is None else (self._gauges.close,)),
            *(source.log.requests.close for source in self.sources.values()),
        ):
            try:
                close()
            except Exception as error:
                log.warning("closing the alignment at the end of the query failed: %s", error)

    def _leave(self) -> None:
        if self.membership is None:
            return
        finished = None
        try:
            if not self.run.failed():
                finished = self.planner.reports()
        finally:
            self.membership.close(finished, returns=self.run.available_now)

    # -- a round: one plan for all sources --

    def _next_round(self, index: int, start: Offsets) -> dict[int, Offsets]:
        positions = {i: start if i == index else self._position(i) for i in self.sources}
        try:
            planned = self._empty_plans.wait(self.planner.plan(positions), positions, self._show_held)
        finally:
            self._held_plan = None
        self._empty_plans.begin(planned)
        ends = self.planner.carry_out(planned)
        if self._kept is not None and len(ends) > 1:
            self._kept[_ROUND] = json.dumps([index, ends])
        self._show(self.view)
        return ends

    def _show(self, view: BatchAlignment | None) -> None:
        self._shown = view
        if self._gauges is not None and view is not None:
            self._gauges.show(gauges(view))

    def _show_held(self, planned: Planned) -> None:
        """Show `planned`, the plan on hold while the query waits, in `status` and in the gauges."""
        self._held_plan = planned
        now, shown = self.planner.clock(), self._shown
        if self._gauges is not None and (shown is None or not 0 <= now - shown.planned_at < _SHOW_S):
            self._show(self.planner.view_of(planned, now, shown))

    def _serve(self, index: int, offsets: Offsets) -> None:
        """Store `offsets`, which Spark receives as the end of the next batch of the source `index`.
        Once all its topics are deleted (no offsets), keep the previous ones, as Spark does.
        """
        if offsets or index not in self._served:
            self._served[index] = offsets

    def _position(self, index: int) -> Offsets:
        if index in self._served:
            return self._served[index]
        return self.run.start_offsets(index) or self.sources[index].initial()
