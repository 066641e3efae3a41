"""What the readers of a query report, and how a run's last report differs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate.wire.events import ReaderFacts, ReportedWatermarkEvent, SplitReport


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The report of one source of a query. Times in ms. `idle`: the source holds no reader.
    `facts`: for people; another pace alone makes no other status, and so names no splits again.
    """

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    idle: bool = False
    facts: ReaderFacts | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Farewell:
    """The last report of a run. `park_ms`: for how long the readers go on counting; None: they are
    finished.
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
    """Return the event that reports a source's status. A run's last report offers no reach."""
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
    """Return what other readers wait for. The end of a log may wait for the update interval."""
    return [(subtask, status.watermark, status.reach) for subtask, status in statuses.items()]
