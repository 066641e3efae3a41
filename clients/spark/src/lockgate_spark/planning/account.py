"""What a run tells of itself: in the log, to a foreachBatch function, and to Spark's progress. It
decides nothing.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Plan
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.config import Alignment
from lockgate_spark.duration import spoken
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.planning.left_out import LeftOut
from lockgate_spark.planning.metrics import Behind, ChangeLog, source_metrics
from lockgate_spark.planning.observe import Observed
from lockgate_spark.planning.out_of_order import OutOfOrder
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.saved import Operator, RowsSaved
from lockgate_spark.planning.start import Checkpointed
from lockgate_spark.planning.view import BatchAlignment, describe

log = logging.getLogger("lockgate")


class Account:
    """Of one run. `view` is that of the last plan, None before the first."""

    def __init__(self, alignment: Alignment, sources: Mapping[int, Source]) -> None:
        self.view: BatchAlignment | None = None
        self._alignment, self._sources = alignment, sources
        self._left_out, self._observed, self._out_of_order = LeftOut(), Observed(), OutOfOrder()
        self._changes, self._behind = ChangeLog(), Behind()
        self._saved: RowsSaved | None = None

    def begin(self, run: Checkpointed) -> None:
        """Reads off the query which rows would be late. To be called once its plan is known."""
        in_payload = {i: source.event_time is not None for i, source in self._sources.items()}
        operators = None if self._alignment.observes else Operator.all_of(run.watermarks(), in_payload)
        if operators is not None:
            self._saved = RowsSaved(operators, highest=run.takes_highest(), stored=run.logged_watermark() or 0)

    def surveyed(self, bounds: Bounds) -> None:
        """Warns of what was met in what is unread."""
        self._left_out.warn(self._sources, self._alignment)
        self._out_of_order.warn(self._sources, bounds, promised=self._alignment.disorder is not None)

    def planned(
        self,
        plan: Plan[Key],
        unread: Unread,
        draft: Draft[Key],
        producers: Producers,
        told: WatermarkAlignmentEvent | None,
        planned_at: float,
        seconds: float,
    ) -> BatchAlignment:
        """The view of the plan that is carried out. `told`: the coordinator's last answer; the rest
        is as in `BatchAlignment`.
        """
        applied = not self._alignment.observes
        view = describe(
            plan, self.view, told, draft.slowest, producers.shown, self._incredible, planned_at, seconds, applied
        )
        view = replace(view, rows_too_late=producers.too_late)
        if view.behind_ms and view.bounded_by is not None and draft.slowest is not None:
            why = producers.why(draft.slowest, int(planned_at * 1000))
            view = replace(view, behind=f"{spoken(view.behind_ms)} behind the clock: {view.bounded_by} {why}")
            self._behind.tell(view)
        if applied:
            for split in view.splits:
                self._left_out.count(split.split, split.left_out)
        return replace(self._out_of_order.show(view, self._sources), rows_saved=self._follow(plan, unread, draft))

    def progress(self, index: int) -> dict[str, str]:
        """What Spark's progress says of one source, by name; the first one's makes it known in the
        log too.
        """
        if self.view is None:
            return {}
        if index == min(self._sources):
            self._changes.tell(self.view)
        return source_metrics(self.view, index)

    def read_natively(self, index: int, start: Offsets, native: Offsets, planned: Offsets) -> None:
        """In mode observe: what Spark reads of one source, beside what was planned."""
        self._observed.compare(start, native, planned)
        for split, end in native.items():
            self._left_out.count(split, self._incredible((index, split), start.get(split, end), end))

    def failed(self, error: Exception) -> None:
        """In mode observe: no plan could be made."""
        self._observed.failed(error)

    def sum_up(self) -> None:
        """At the end of the run."""
        self._left_out.sum_up()
        if self._alignment.observes:
            self._observed.sum_up()
        if self._saved is not None:
            self._saved.finish()
            log.info(
                (
                    "an estimate: %d rows would have been behind Spark's watermark, had each batch been split by "
                    "backlog as natively"
                ),
                self._saved.rows,
            )

    def _follow(self, plan: Plan[Key], unread: Unread, draft: Draft[Key]) -> int | None:
        if self._saved is None:
            return None
        budgets = {i: source.budget for i, source in self._sources.items()}
        fixed = all(source.fixed_at is not None for source in self._sources.values())
        self._saved.follow(plan, unread.ends, budgets, chain(draft.heads.items(), unread.met(plan)), fixed)
        return self._saved.rows

    def _incredible(self, key: Key, start: int, end: int) -> int:
        return self._sources[key[0]].log.incredible(key[1], start, end)
