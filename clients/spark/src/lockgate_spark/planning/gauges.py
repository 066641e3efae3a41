"""The numbers of a run as gauges, for Spark's metrics system.

What lastProgress has of them keeps its name there, `alignmentPausedMs` as `pausedMs`, so that there
is one list (`metrics`); over several sources it is the sum of what is a source's own, else the
most. To these come event times, in ms since the epoch, which progress shows as text; yes is 1 and
no is 0. What is not known, or has no bound, is None: a gauge without a value.
"""

from collections.abc import Mapping
from typing import Protocol

from lockgate import watermark
from lockgate.plan.model import Limit
from lockgate_spark.group.outage import Coordination
from lockgate_spark.planning.metrics import figures
from lockgate_spark.planning.view import BatchAlignment

_COUNTS = ("PausedSplits", "LeftOut")  # a source's own; the others are the query's, or a maximum

Values = Mapping[str, int | None]


class Gauges(Protocol):
    """Where the gauges of one run are shown. Raises nothing."""

    def show(self, values: Values) -> None:
        """Sets these; the others stay what they are."""

    def close(self) -> None:
        """At the end of the run."""


def gauges(view: BatchAlignment) -> dict[str, int | None]:
    """Of a query, by the view of its last plan."""
    lowest = min((split.watermark for split in view.splits), default=None)
    own, group = _finite(lowest), _finite(view.group_watermark)
    found: dict[str, int | None] = {
        **_of_progress(view),
        "targetMs": _finite(view.target),
        "ceilingMs": _finite(view.ceiling),
        "watermarkMs": own,
        "heldByGroup": int(view.limit is Limit.GROUP and bool(view.paused)),
    }
    if view.coordinator is not None:
        found["groupWatermarkMs"] = group
        found["driftMs"] = None if own is None or group is None else own - group
        found["coordinatorAway"] = int(view.coordinator is not Coordination.TOLD)
        found["proceeding"] = int(view.coordinator is Coordination.PROCEEDING)
    return found


def late_gauges(total: int) -> dict[str, int | None]:
    """Of a query whose late rows are counted. `total`: of the run so far."""
    return {"lateRowsTotal": total}


def _of_progress(view: BatchAlignment) -> dict[str, int]:
    found: dict[str, int] = {}
    for source in sorted({split.source for split in view.splits}):
        for figure, value in figures(view, source).items():
            if isinstance(value, int):
                name = figure[0].lower() + figure[1:]
                found[name] = found.get(name, 0) + value if figure in _COUNTS else max(found.get(name, value), value)
    return found


def _finite(event_time: int | None) -> int | None:
    return None if event_time in (None, watermark.MIN, watermark.MAX) else event_time
