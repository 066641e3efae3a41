"""The report of a query on one of its sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate.wire.events import ReaderFacts, SplitReport


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The report of one source of a query, with times in ms. `reach` is the proposed target. An
    `idle` source does not block other readers. `facts` are only shown to operators. They are
    ignored when statuses are compared, so splits are not sent again if only the facts have changed.
    """

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    idle: bool = False
    facts: ReaderFacts | None = field(default=None, compare=False)
