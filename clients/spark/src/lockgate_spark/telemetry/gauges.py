"""Shows the numbers of a run as gauges in Spark's metrics system. The numbers of `progress_metrics`
have nearly the same names there: `alignmentPausedMs` becomes `pausedMs`.

Of a query with several sources, counts are summed, and other numbers are the largest value. Event
times are in ms since 1970, a Boolean is 1 or 0, and an unknown or unbounded value is None.
"""

from collections.abc import Mapping
from typing import Protocol

from lockgate import watermark
from lockgate.plan.model import Limit
from lockgate_http.group.outage import Coordination
from lockgate_spark.telemetry.progress_metrics import metrics_of
from lockgate_spark.telemetry.view import BatchAlignment

# a source's own; the others are the query's, or a maximum
_COUNTS = ("PausedPartitions", "FarBehindPartitions", "LeftOut")

_SHOW_S = 1.0  # the gauges of a held plan move this often

Values = Mapping[str, int | None]


class Gauges(Protocol):
    """The gauges of one run, in a metrics system. Its methods raise no errors."""

    def show(self, values: Values) -> None:
        """Set the gauges in `values`. The others keep their values."""

    def close(self) -> None:
        """Remove the gauges at the end of the run."""


class RunGauges:
    """Keeps the gauges of one run up to date. `shown` is the view that they show, or None."""

    def __init__(self, gauges: Gauges) -> None:
        self.gauges = gauges
        self.shown: BatchAlignment | None = None
        self._late: dict[int, int] = {}

    def show(self, view: BatchAlignment) -> None:
        """Set the gauges to the values of a plan's view."""
        self.shown = view
        self.gauges.show(gauges(view))

    def is_due(self, now: float) -> bool:
        """Return whether the gauges were set a second ago or more, at `now` (s since 1970)."""
        return self.shown is None or not 0 <= now - self.shown.planned_at < _SHOW_S

    def show_late(self, source: int, total: int) -> None:
        """Set the gauge of late rows. `total` is the source's number of late rows in this run."""
        self._late[source] = total
        self.gauges.show({"lateRowsTotal": sum(self._late.values())})


def gauges(view: BatchAlignment) -> dict[str, int | None]:
    """Return the values of a query's gauges, by name, from the view of its last plan."""
    lowest = min((each.watermark for each in view.partitions), default=None)
    own, group = _finite(lowest), _finite(view.group_watermark)
    found: dict[str, int | None] = {
        **_of_progress(view),
        "targetMs": _finite(view.target),
        "readLimitMs": _finite(view.read_limit),
        "watermarkMs": own,
        "blockedByGroup": int(view.limited_by is Limit.GROUP and bool(view.paused)),
    }
    if view.coordinator is not None:
        found["groupWatermarkMs"] = group
        found["driftMs"] = None if own is None or group is None else own - group
        found["coordinatorAway"] = int(view.coordinator is not Coordination.CONNECTED)
        found["proceeding"] = int(view.coordinator is Coordination.PROCEEDING)
    return found


def _of_progress(view: BatchAlignment) -> dict[str, int]:
    found: dict[str, int] = {}
    for source in sorted({each.source for each in view.partitions}):
        for figure, value in metrics_of(view, source).items():
            if isinstance(value, int):
                name = figure[0].lower() + figure[1:]
                found[name] = found.get(name, 0) + value if figure in _COUNTS else max(found.get(name, value), value)
    return found


def _finite(event_time: int | None) -> int | None:
    return None if event_time in (None, watermark.MIN, watermark.MAX) else event_time
