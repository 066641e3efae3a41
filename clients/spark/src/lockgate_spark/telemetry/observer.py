"""The observer of one run, which shows the run's plans in the log, in Spark's progress and to
foreachBatch functions. It does not influence the plans.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from lockgate.plan.draft import Draft
from lockgate.plan.model import Plan
from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.query_watermark import Checkpointed
from lockgate_spark.telemetry.dry_run import DryRun
from lockgate_spark.telemetry.left_out import LeftOut
from lockgate_spark.telemetry.out_of_order import OutOfOrder, seen
from lockgate_spark.telemetry.progress_metrics import Behind, ChangeLog, source_metrics
from lockgate_spark.telemetry.rows_saved import Operator, RowsSaved
from lockgate_spark.telemetry.view import BatchAlignment, PlanContext, describe

log = logging.getLogger("lockgate")


class Observer:
    """Follows the plans of one run.

    Attributes:
        view: The view of the last plan; None before the first one.
        left_out: The count of records without a credible event time.
        dry_run: The comparison with Spark's own batches, in observe mode.
        sees_watermark: Whether the query's watermarks use the aligned event times; True for a query
            without watermarks.
    """

    def __init__(self, alignment: Alignment, sources: Mapping[int, Source]) -> None:
        self.view: BatchAlignment | None = None
        self._alignment, self._sources = alignment, sources
        self.left_out, self.dry_run, self._out_of_order = LeftOut(), DryRun(), OutOfOrder()
        self._changes, self._behind = ChangeLog(), Behind()
        self._rows_saved: RowsSaved | None = None
        self.sees_watermark = True

    def begin(self, run: Checkpointed) -> None:
        """Set `sees_watermark`, and start the estimate of rows saved if the query's watermarks
        allow one. Call this method once Spark has planned the query.
        """
        in_payload = {i: source.event_time is not None for i, source in self._sources.items()}
        operators = Operator.all_of(run.watermarks(), in_payload)
        self.sees_watermark = operators is not None or not run.watermarks()
        if operators is not None and self._alignment.mode != "observe":
            self._rows_saved = RowsSaved(operators, highest=run.takes_highest(), stored=run.logged_watermark() or 0)

    def drafted(self, allowed: int, learned: int | None, steps: tuple[int, int] | None = None) -> None:
        """Log warnings about unread records that are left out, or that are further out of order
        than plans allow for. The arguments are those of `OutOfOrder.warn`.
        """
        self.left_out.warn(self._sources, self._alignment)
        self._out_of_order.warn(self._sources, allowed, learned, steps)

    def planned(self, plan: Plan[Key], unread: Unread, draft: Draft[Key], context: PlanContext) -> None:
        """Set `view` to the view of `plan`, a plan that is carried out. The view shows `context`
        and the observer's own counts. Log a line if a partition keeps the query behind the clock.
        """
        applied = self._alignment.mode != "observe"
        left_out = {key: self._incredible(key, made.position, made.end) for key, made in plan.splits.items()}
        for key, records in left_out.items() if applied else ():
            self.left_out.count(key, records)
        context = replace(
            context,
            before=self.view,
            left_out=left_out,
            left_out_so_far={key: self.left_out.records[key] for key in left_out},
            disorder=seen(self._sources),
            rows_saved=self._estimate(plan, unread, draft),
            applied=applied,
        )
        self.view = describe(plan, context)
        if self.view.behind and plan.offsets:  # a wait is logged by `waits`
            self._behind.log(self.view)

    @property
    def rows_saved(self) -> int | None:
        """The estimated number of rows saved so far; None without an estimate."""
        return None if self._rows_saved is None else self._rows_saved.rows

    def progress(self, index: int) -> dict[str, str]:
        """Return the metrics of one source in Spark's progress, by name. The call for the first
        source also logs a line if the alignment has changed.
        """
        if self.view is None:
            return {}
        if index == min(self._sources):
            self._changes.log(self.view)
        return source_metrics(self.view, index)

    def read_natively(self, index: int, start: Offsets, native: Offsets, planned: Offsets) -> None:
        """Compare a batch of one source with the plan in observe mode, and count the left-out
        records of the batch. The batch begins at `start`, Spark ends it at `native`, and the plan
        would end it at `planned`.
        """
        self.dry_run.compare(start, native, planned)
        for split, end in native.items():
            self.left_out.count((index, split), self._incredible((index, split), start.get(split, end), end))

    def sum_up(self) -> None:
        """Log the number of records left out and of rows saved, at the end of the run."""
        self.left_out.sum_up()
        if self._rows_saved is not None:
            self._rows_saved.finish()
            log.info(
                "estimate: without lockgate, %d more rows would have been late, because plain Spark divides each "
                "batch among the partitions by their backlog",
                self._rows_saved.rows,
            )

    def _estimate(self, plan: Plan[Key], unread: Unread, draft: Draft[Key]) -> int | None:
        if self._rows_saved is None:
            return None
        budgets = {i: source.budget for i, source in self._sources.items()}
        fixed = all(source.fixed_at is not None for source in self._sources.values())
        self._rows_saved.follow(plan, unread.ends, budgets, chain(draft.heads.items(), unread.met(plan)), fixed)
        return self._rows_saved.rows

    def _incredible(self, key: Key, start: int, end: int) -> int:
        return self._sources[key[0]].log.learned[key[1]].points.met(start, end)
