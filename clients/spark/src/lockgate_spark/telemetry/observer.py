"""Shows the plans of one run in the log, in Spark's progress and to foreachBatch functions. Nothing
here influences the plans.
"""

import logging
from collections.abc import Callable, Mapping
from itertools import chain

from lockgate.plan.draft import Draft
from lockgate.plan.model import Plan
from lockgate_spark.config import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.query_watermark import Checkpointed
from lockgate_spark.telemetry.progress_metrics import Behind, ChangeLog, source_metrics
from lockgate_spark.telemetry.record_warnings import RecordWarnings
from lockgate_spark.telemetry.rows_saved import Operator, RowsSaved
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")


class Observer:
    """Follows the plans of one run.

    Attributes:
        view: The view of the last plan; None before the first one.
        records: Logs warnings about records, and counts the records that are left out.
        ahead: In observe mode, the number of Spark's batches that went beyond the plan, by source.
        offsets_ahead: The number of offsets that these batches read beyond their plans.
        failed_plans: Whether a plan could not be made in observe mode.
        sees_watermark: Whether the query's watermarks, if any, use the aligned event times.
    """

    def __init__(self, alignment: Alignment, sources: Mapping[int, Source]) -> None:
        self.view: BatchAlignment | None = None
        self._alignment, self._sources = alignment, sources
        self.records, self._changes, self._behind = RecordWarnings(sources, alignment), ChangeLog(), Behind()
        self.ahead = self.offsets_ahead = 0
        self.failed_plans = False
        self._rows_saved: RowsSaved | None = None
        self.sees_watermark = True

    def begin(self, run: Checkpointed) -> None:
        """Set `sees_watermark`, and start the estimate of rows saved if the watermarks of the
        query, which Spark has planned, allow one.
        """
        in_payload = {i: source.event_time is not None for i, source in self._sources.items()}
        operators = Operator.all_of(run.watermarks(), in_payload)
        self.sees_watermark = operators is not None or not run.watermarks()
        if operators is not None and self._alignment.mode != "observe":
            self._rows_saved = RowsSaved(operators, highest=run.takes_highest(), stored=run.logged_watermark() or 0)

    def planned(
        self, plan: Plan[Key], unread: Unread, draft: Draft[Key], view_of: Callable[..., BatchAlignment]
    ) -> None:
        """Set `view` to the view of `plan`, which is carried out; `view_of` makes it with the
        observer's own counts. Log a line if a partition keeps the query behind the clock.
        """
        applied = self._alignment.mode != "observe"
        found = ((key, self._incredible(key, made.position, made.end)) for key, made in plan.splits.items())
        left_out = {key: records for key, records in found if records}
        if applied:
            self.records.left_out.update(left_out)
        self.view = view_of(
            left_out=left_out,
            left_out_so_far=self.records.left_out,
            disorder=self.records.disorder(),
            rows_saved=self._estimate(plan, unread, draft),
            applied=applied,
        )
        if self.view.behind and plan.offsets:  # a wait is logged by `waits`
            self._behind.log(self.view)

    @property
    def rows_saved(self) -> int | None:
        """The `RowsSaved` estimate so far; None if there is none."""
        return None if self._rows_saved is None else self._rows_saved.rows

    def progress(self, index: int) -> dict[str, str]:
        """Return one source's metrics for Spark's progress. The call for the first source also logs
        a line if the alignment has changed.
        """
        if self.view is None:
            return {}
        if index == min(self._sources):
            self._changes.log(self.view)
        return source_metrics(self.view, index)

    def read_natively(self, index: int, start: Offsets, native: Offsets, planned: Offsets) -> None:
        """Compare a batch of one source from `start` to Spark's end `native` with the end that the
        plan would have set, `planned`, in observe mode, and count the batch's left-out records.
        """
        if any(start.get(split) != end for split, end in native.items()):
            ends = [(start.get(split, 0), planned[split], end) for split, end in native.items() if split in planned]
            ahead = sum(max(0, end - max(plan, first)) for first, plan, end in ends)
            self.ahead += ahead > 0
            self.offsets_ahead += ahead
        for split, end in native.items():
            if records := self._incredible((index, split), start.get(split, end), end):
                self.records.left_out[index, split] += records

    def plan_failed(self, error: Exception) -> None:
        """Log that no plan could be made in observe mode, as a warning only the first time."""
        level = logging.DEBUG if self.failed_plans else logging.WARNING
        log.log(level, "mode observe: no plan could be made, and the query runs on unchanged: %s", error)
        self.failed_plans = True

    def sum_up(self) -> None:
        """Log the number of records left out and of rows saved, at the end of the run."""
        self.records.sum_up()
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
