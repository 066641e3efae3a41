"""Shows the plans of one run in the log, in Spark's progress and to foreachBatch functions."""

import logging
from collections import Counter
from collections.abc import Mapping

from lockgate import watermark
from lockgate.duration import spoken, spoken_s
from lockgate.plan.draft import Draft
from lockgate.plan.model import Limit, Plan
from lockgate_http.duration import Duration, milliseconds
from lockgate_spark.config import Alignment
from lockgate_spark.logs.points import Points
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread, counts, named, names
from lockgate_spark.spark_run import Checkpointed
from lockgate_spark.telemetry.progress_metrics import source_metrics
from lockgate_spark.telemetry.rows_saved import RowsSaved, operators_of
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")

_QUIET_S = 10.0  # no more than one line about a change in so long
_BEHIND_S, _BEHIND_MS = 10.0, 1_000  # a query that is held for longer, and by more, is behind
_BEHIND_AGAIN_S = 600.0


class Observer:
    """Follows the plans of one run.

    Attributes:
        view: The view of the last plan; None before the first one.
        left_out: The number of records of each split that plans have inspected, and left out of the
            alignment because of their event time.
        sees_watermark: Whether the query's watermarks, if any, use the aligned event times.
    """

    def __init__(self, alignment: Alignment, sources: Mapping[int, Source]) -> None:
        self.view: BatchAlignment | None = None
        self.left_out: Counter[Key] = Counter()
        self.sees_watermark = True
        self._alignment, self._sources = alignment, sources
        self._logged: tuple[Limit, str, bool] | None = None
        self._bounded_by: str | None = None
        self._logged_at = self._bounded_since = self._behind_at = 0.0
        self._rows_saved: RowsSaved | None = None
        self._failed_plans = False
        self._warned: set[tuple[str, Key]] = set()
        self._logged_disorder = 0

    def begin(self, run: Checkpointed) -> None:
        """Set `sees_watermark`, and start the estimate of rows saved if the watermarks allow one.
        Spark must have planned the query.
        """
        in_payload = {i: source.event_time is not None for i, source in self._sources.items()}
        operators = operators_of(run.watermarks(), in_payload)
        self.sees_watermark = bool(operators) or not run.watermarks()
        if operators and self._alignment.mode != "observe":
            self._rows_saved = RowsSaved(operators, self._sources, run)

    def warn(self, allowed: int, learned: int | None, steps: tuple[int, int]) -> None:
        """Log a warning about the first left-out record of each split, and about each split in
        which a record was older than an earlier one by more than `allowed` (ms). Log `learned`, the
        measured out-of-orderness (ms) that plans use, each time that it has more than doubled; None
        if the user has set one. `steps` says how far (ms) a batch may go beyond the lowest split
        without and with it.
        """
        splits, disorder = self._splits(), self.disorder()
        for key in splits:
            record = self._points(key).first_met
            if record is not None and self._is_new("left out", key):
                log.warning(
                    "%s: the record at offset %d %s. It and others like it are left out of the alignment, but "
                    "still move Spark's own watermark. Filter them before withWatermark",
                    named(key, splits),
                    record.offset,
                    _reason(record.event_time, self._sources[key[0]].log.credible.latest, self._alignment),
                )
        if learned is not None and learned > 2 * self._logged_disorder:
            self._logged_disorder = learned
            worst = max(disorder, key=lambda key: disorder[key], default=None)
            log.info(
                "%s: records are out of order by at least %s. max_out_of_orderness is not set, so the plans allow for "
                "this, and a batch reads up to %s beyond the slowest partition instead of %s",
                "the query" if worst is None else names([worst], splits)[worst],
                spoken(learned),
                spoken(steps[1]),
                spoken(steps[0]),
            )
        for key, ms in disorder.items():
            if ms > allowed and self._is_new("out of order", key):
                log.warning(
                    "the records of %s are out of order by at least %s, but the plans allow for %s: rows can be "
                    "late and dropped. Set Alignment(max_out_of_orderness=…), and a watermark delay of at least "
                    "max_drift + max_out_of_orderness",
                    names([key], splits)[key],
                    spoken(ms),
                    spoken(allowed),
                )

    def disorder(self) -> dict[Key, int]:
        """Return the measured out-of-orderness (ms) of each split that has some."""
        return {key: ms for key in self._splits() if (ms := self._points(key).disorder)}

    def planned(self, plan: Plan[Key], unread: Unread, draft: Draft[Key]) -> dict[Key, int]:
        """Count what comes of `plan`, which is carried out. Return the number of records that it
        leaves out of the alignment, by split.
        """
        if self._rows_saved is not None:
            self._rows_saved.follow(plan, unread, draft)
        found = ((key, self._points(key).met(made.position, made.end)) for key, made in plan.splits.items())
        left_out = {key: records for key, records in found if records}
        if self._alignment.mode != "observe":
            self.left_out.update(left_out)
        return left_out

    def show(self, view: BatchAlignment, offsets: int) -> None:
        """Set `view` to that of a plan that reads so many `offsets`. Log which of the query's own
        partitions has kept the query behind the clock for ten seconds, and again every ten minutes
        while this lasts.
        """
        self.view = view
        if not view.behind or not offsets:  # a wait is logged by `waits`
            return
        now = view.planned_at
        if view.bounded_by != self._bounded_by or not 0 <= now - self._bounded_since < _BEHIND_AGAIN_S:
            self._bounded_by, self._bounded_since, self._behind_at = view.bounded_by, now, 0.0
        if now - self._bounded_since >= _BEHIND_S and view.behind_ms >= _BEHIND_MS and not self._behind_at:
            self._behind_at = now
            log.info("%s", view.behind)

    @property
    def rows_saved(self) -> int | None:
        return None if self._rows_saved is None else self._rows_saved.rows

    def progress(self, index: int) -> dict[str, str]:
        """Return one source's metrics for Spark's progress. With those of the first source, log a
        line if the limit or the blocker has changed, or if pauses have begun or ended.
        """
        if self.view is None:
            return {}
        if index == min(self._sources):
            self._log_change(self.view)
        return source_metrics(self.view, index)

    def read_natively(self, index: int, start: Offsets, native: Offsets) -> None:
        """Count the left-out records of a batch that one source reads in observe mode."""
        for split, end in native.items():
            if records := self._points((index, split)).met(start.get(split, end), end):
                self.left_out[index, split] += records

    def plan_failed(self, error: Exception) -> None:
        level = logging.DEBUG if self._failed_plans else logging.WARNING
        log.log(level, "mode observe: no plan could be made, and the query runs on unchanged: %s", error)
        self._failed_plans = True

    def sum_up(self) -> None:
        if self.left_out:
            left_out = counts(self.left_out, self._splits())
            log.info("at least this many records were left out of the alignment, by partition: %s", left_out)
        if self._rows_saved is not None:
            self._rows_saved.finish()
            log.info("estimate: without lockgate, %d more rows would have been late", self._rows_saved.rows)

    def _log_change(self, view: BatchAlignment) -> None:
        state = (view.limited_by, view.blocker, bool(view.paused))
        if state == self._logged or (self._logged is not None and view.planned_at - self._logged_at < _QUIET_S):
            return
        self._logged, self._logged_at = state, view.planned_at
        log.info(
            "%s to %s, limited by %s%s; %d of %d partitions paused, the longest for %s; first unread records "
            "%s apart; planned in %s",
            "aligned" if view.applied else "mode observe: would be aligned",
            watermark.instant(view.target, "nothing", "the end of the data"),
            view.limited_by.value,
            f", blocked by {view.blocker}" if view.blocker else "",
            len(view.paused),
            len(view.partitions),
            spoken(view.paused_ms),
            spoken(view.spread),
            spoken_s(view.seconds),
        )

    def _splits(self) -> list[Key]:
        return [(i, split) for i, source in self._sources.items() for split in source.log.learned]

    def _points(self, key: Key) -> Points:
        return self._sources[key[0]].log.learned[key[1]].points

    def _is_new(self, reason: str, key: Key) -> bool:
        is_new = (reason, key) not in self._warned
        self._warned.add((reason, key))
        return is_new


def _reason(event_time: int, latest: int, alignment: Alignment) -> str:
    if event_time < 0:
        return "has no event time"
    stamped = f"is stamped {watermark.instant(event_time)}"
    if event_time > latest:
        return f"{stamped}, more than future_bound ({bound(alignment.future_bound)}) ahead of the clock"
    return f"{stamped}, more than past_bound ({bound(alignment.past_bound)}) behind the clock"


def bound(length: Duration | None) -> str:
    """Return the bound `length` as text; "none" if `length` is None."""
    return "none" if length is None else spoken(milliseconds("bound", length))
