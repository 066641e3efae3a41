"""What a query's progress tells of its alignment: `lastProgress["sources"][…]["metrics"]`, and a
line in the log when something changed.

Spark asks a source for its metrics once for each progress that it makes known, after the batch; so
this is where both belong, and no listener is needed. Spark takes text for values; durations are in
ms, event times as ISO 8601.
"""

import json
import logging
from collections.abc import Mapping

from lockgate import watermark
from lockgate.plan.model import Limit
from lockgate_spark.planning.view import BatchAlignment

log = logging.getLogger("lockgate")

_QUIET_S = 10.0  # no more than one line in so long
_BEHIND_S, _BEHIND_MS = 10.0, 1_000  # a query that is held for longer, and by more, is behind
_BEHIND_AGAIN_S = 600.0


def source_metrics(view: BatchAlignment, source: int) -> dict[str, str]:
    """Of one source, as progress has them."""
    return {f"alignment{name}": str(value) for name, value in figures(view, source).items()}


def figures(view: BatchAlignment, source: int) -> dict[str, int | str]:
    """Of one source; target, limit, spread, what holds and the rows saved are the query's."""
    splits = [split for split in view.splits if split.source == source]
    lags = [split.lag for split in splits if split.lag is not None]
    found: dict[str, int | str] = {
        "Target": watermark.iso(view.target),
        "Limit": view.limit.value,
        "HeldBy": view.holder,
        "SpreadMs": view.spread,
        "PausedSplits": sum(split.paused_since is not None for split in splits),
        "PausedMs": view.paused_ms,
        "BehindMs": view.behind_ms,
        "RowsTooLate": view.rows_too_late,
        "LeftOut": sum(split.left_out for split in splits),
        "PlanMs": round(view.seconds * 1000),
        "LookUps": view.look_ups,
        "DisorderMs": view.disorder,
    }
    if view.coordinator is not None:
        found["Coordinator"] = view.coordinator.value
    if view.rows_saved is not None:
        found["RowsSavedEstimate"] = view.rows_saved
    if lags:
        found["ProducerLagMs"] = max(lags)
    if view.behind:
        found["Behind"] = view.behind
    return found


def late_metrics(late: Mapping[str, int]) -> dict[str, str]:
    """Of one source whose late rows are counted; the last batch's, by split."""
    return {"lateRows": str(sum(late.values())), "lateRowsBySplit": json.dumps(late, sort_keys=True)}


class ChangeLog:
    """One line where what holds a query back has changed since the last one."""

    def __init__(self) -> None:
        self._told: tuple[Limit, str, bool] | None = None
        self._told_at = 0.0

    def tell(self, view: BatchAlignment) -> None:
        """Logs the progress of a batch, or not."""
        now = (view.limit, view.holder, bool(view.paused))
        if now == self._told or (self._told is not None and view.planned_at - self._told_at < _QUIET_S):
            return
        self._told, self._told_at = now, view.planned_at
        log.info(
            (
                "%s to %s, limited by %s%s; %d of %d splits paused, the longest for %d s; first unread records %d s "
                "apart; planned in %d ms"
            ),
            "aligned" if view.applied else "mode observe: would be aligned",
            watermark.iso(view.target),
            view.limit.value,
            f", held by {view.holder}" if view.holder else "",
            len(view.paused),
            len(view.splits),
            view.paused_ms // 1000,
            view.spread // 1000,
            round(view.seconds * 1000),
        )


class Behind:
    """One line where a split of its own keeps a query behind the clock, and one in ten minutes
    while that goes on.
    """

    def __init__(self) -> None:
        self._by: str | None = None
        self._since = self._told_at = 0.0

    def tell(self, view: BatchAlignment) -> None:
        """To be called with each plan that something of its own holds back."""
        now = view.planned_at
        if view.bounded_by != self._by or not 0 <= now - self._since < _BEHIND_AGAIN_S:
            self._by, self._since, self._told_at = view.bounded_by, now, 0.0
        if now - self._since >= _BEHIND_S and view.behind_ms >= _BEHIND_MS and not self._told_at:
            self._told_at = now
            log.info("%s", view.behind)
