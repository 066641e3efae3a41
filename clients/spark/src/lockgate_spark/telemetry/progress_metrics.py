"""Metrics of the alignment for a query's progress, `lastProgress["sources"][…]["metrics"]`, and log
lines about changes. Spark asks each source for its metrics after a batch, as text: durations are in
ms, and event times in ISO 8601.
"""

import json
import logging
from collections.abc import Mapping

from lockgate import watermark
from lockgate.duration import spoken, spoken_s
from lockgate.plan.model import Limit
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")

_QUIET_S = 10.0  # no more than one line in so long
_BEHIND_S, _BEHIND_MS = 10.0, 1_000  # a query that is held for longer, and by more, is behind
_BEHIND_AGAIN_S = 600.0


def source_metrics(view: BatchAlignment, source: int) -> dict[str, str]:
    """Return the metrics of one source, as Spark's progress shows them."""
    return {f"alignment{name}": str(value) for name, value in metrics_of(view, source).items()}


def metrics_of(view: BatchAlignment, source: int) -> dict[str, int | str]:
    """Return the metrics of one source, by name. Some, such as `Target`, are the query's."""
    partitions = [each for each in view.partitions if each.source == source]
    lags = [each.lag for each in partitions if each.lag is not None]
    metrics: dict[str, int | str] = {
        "Target": watermark.iso(view.target),
        "LimitedBy": view.limited_by.value,
        "BlockedBy": view.blocker,
        "SpreadMs": view.spread,
        "PausedPartitions": sum(each.paused_since is not None for each in partitions),
        "PausedMs": view.paused_ms,
        "FarBehindPartitions": sum(each.far_behind for each in partitions),
        "BehindMs": view.behind_ms,
        "RowsTooLate": view.rows_too_late,
        "LeftOut": sum(each.left_out_so_far for each in partitions),
        "PlanMs": round(view.seconds * 1000),
        "LookUps": view.look_ups,
        "OutOfOrdernessMs": view.out_of_orderness,
    }
    if view.coordinator is not None:
        metrics["Coordinator"] = view.coordinator.value
    if view.rows_saved is not None:
        metrics["RowsSavedEstimate"] = view.rows_saved
    if lags:
        metrics["ProducerLagMs"] = max(lags)
    if view.behind:
        metrics["Behind"] = view.behind
    return metrics


def late_metrics(late: Mapping[str, int], exact: bool) -> dict[str, str]:
    """Return the metrics of the late rows in the last batch of one source, from their number in
    each partition: an upper bound if `exact` is False.
    """
    return {
        "lateRows": str(sum(late.values())),
        "lateRowsByPartition": json.dumps(late, sort_keys=True),
        "lateRowsExact": str(exact).lower(),
    }


class ChangeLog:
    """Logs a line when the limit or the blocker of a query's plans has changed, and when pauses
    have begun or ended. Lines are at least ten seconds apart.
    """

    def __init__(self) -> None:
        self._logged: tuple[Limit, str, bool] | None = None
        self._logged_at = 0.0

    def log(self, view: BatchAlignment) -> None:
        """Log a line about `view`, the view of the last plan, if it is due."""
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


class Behind:
    """Logs which of the query's own partitions keeps the query behind the clock, and again every
    ten minutes while this lasts.
    """

    def __init__(self) -> None:
        self._by: str | None = None
        self._since = self._logged_at = 0.0

    def log(self, view: BatchAlignment) -> None:
        """Log `view.behind` if the same partition has limited the plans for ten seconds, and the
        query is at least a second behind the clock.
        """
        now = view.planned_at
        if view.bounded_by != self._by or not 0 <= now - self._since < _BEHIND_AGAIN_S:
            self._by, self._since, self._logged_at = view.bounded_by, now, 0.0
        if now - self._since >= _BEHIND_S and view.behind_ms >= _BEHIND_MS and not self._logged_at:
            self._logged_at = now
            log.info("%s", view.behind)
