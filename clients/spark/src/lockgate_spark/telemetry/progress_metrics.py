"""The numbers of a run, as metrics of a query's progress (`lastProgress["sources"][…]["metrics"]`),
and as gauges in Spark's metrics system. These have nearly the same names: `alignmentPausedMs`
becomes `pausedMs`. Durations are in ms. Event times are in ISO 8601 in progress, and in ms since
1970 in gauges, where a Boolean is 1 or 0, and an unknown or unbounded value is None.
"""

import json
from collections.abc import Mapping
from typing import Protocol

from lockgate import watermark
from lockgate.plan.model import Limit
from lockgate_http.group.outage import Coordination
from lockgate_spark.telemetry.view import BatchAlignment

Values = Mapping[str, int | None]


class Gauges(Protocol):
    """The gauges of one run, in a metrics system. Its methods raise no errors."""

    def show(self, values: Values) -> None:
        """Set the gauges in `values`. The others keep their values."""

    def close(self) -> None:
        """Remove the gauges at the end of the run."""


def source_metrics(view: BatchAlignment, source: int) -> dict[str, str]:
    return {f"alignment{name}": str(value) for name, value in _metrics_of(view, source).items()}


def _metrics_of(view: BatchAlignment, source: int | None) -> dict[str, int | str]:
    """Return the metrics of one source, or of all, by name. Some, such as `Target`, are the
    query's.
    """
    partitions = [each for each in view.partitions if source in (None, each.source)]
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
    """Return the metrics of one source's late rows in the last batch, from their number in each
    partition, an upper bound if `exact` is False.
    """
    return {
        "lateRows": str(sum(late.values())),
        "lateRowsByPartition": json.dumps(late, sort_keys=True),
        "lateRowsExact": str(exact).lower(),
    }


def gauges(view: BatchAlignment) -> dict[str, int | None]:
    """Return the values of a query's gauges, by name, from the view of its last plan."""
    metrics = _metrics_of(view, None) if view.partitions else {}
    numbers = {name[0].lower() + name[1:]: value for name, value in metrics.items() if isinstance(value, int)}
    lowest = min((each.watermark for each in view.partitions), default=None)
    own, group = _finite(lowest), _finite(view.group_watermark)
    found: dict[str, int | None] = {
        **numbers,
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


def _finite(event_time: int | None) -> int | None:
    return None if event_time in (None, watermark.MIN, watermark.MAX) else event_time
