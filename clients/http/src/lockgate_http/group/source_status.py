"""The reports of a query's readers, with the last report of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate.wire.events import ReaderFacts, ReportedWatermarkEvent, SplitReport


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The report of one source of a query, with times in ms. An `idle` source does not block other
    readers. `facts` are figures for people. They do not count when statuses are compared, so a
    change in them alone does not send the splits again.
    """

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    idle: bool = False
    facts: ReaderFacts | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Farewell:
    """The last report of a run. The readers go on counting for `park_ms`, or are finished if it is
    None.
    """

    park_ms: int | None


def report_of(
    subtask: int,
    epoch: int,
    status: SourceStatus,
    farewell: Farewell | None,
    names_splits: bool,
    facts: ReaderFacts | None = None,
) -> ReportedWatermarkEvent:
    """Return the event that reports a source's status. The last report of a run has no `reach`."""
    return ReportedWatermarkEvent(
        subtask=subtask,
        epoch=epoch,
        watermark=status.watermark,
        idle=status.idle,
        reach=status.reach if farewell is None else None,
        finished=farewell is not None and farewell.park_ms is None,
        park_ms=None if farewell is None else farewell.park_ms,
        facts=facts,
        splits=status.splits if names_splits else {},
    )


def urgent(statuses: Mapping[int, SourceStatus]) -> list[object]:
    """Return the values that other readers wait for. Other changes may wait for the update
    interval.
    """
    return [(subtask, status.watermark, status.reach) for subtask, status in statuses.items()]
