"""The report of a query on one of its sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate.wire.events import ReaderFacts, SplitReport


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The report of one source of a query. Times are in ms, and `reach` is the proposed target.

    An `idle` source does not block other readers. `facts` are ignored when statuses are compared,
    so that a change of facts alone does not send the splits again.
    """

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    idle: bool = False
    facts: ReaderFacts | None = field(default=None, compare=False)
