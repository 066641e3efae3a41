"""The credible range of event times, the range of a batch, and the watermarks of a query."""

from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
KAFKAS = "timestamp"  # the column of Kafka's record timestamp
TIME = "__lockgate_event_time"
"""The name of the column with a batch's event times."""


@dataclass(frozen=True, slots=True)
class Credible:
    """The range of credible event times (ms), both ends included. Alignment ignores records with
    other event times, such as Kafka's -1 for a record without a timestamp.
    """

    earliest: int = 0
    latest: int = MAX

    def has(self, event_time: int) -> bool:
        return self.earliest <= event_time <= self.latest


class Span(NamedTuple):
    """The lowest and the highest credible event time of a batch, in ms."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Unaligned:
    """A stream that is not aligned. `text` is Spark's name for it, and `reader` is the code that
    reads it from Kafka; None for other sources, which cannot be aligned.
    """

    text: str
    reader: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a watermark's column, in one branch of a union."""

    aligned: bool  # an aligned source is among the column's sources
    column: str | None  # of the source, if it is passed on unchanged; None for an expression
    text: str  # as SQL
    source: int | None = None  # the index of the aligned source; None if there are several or none
    unaligned: tuple[Unaligned, ...] = ()  # those among the column's sources


@dataclass(frozen=True, slots=True)
class QueryWatermark:
    """A `withWatermark(column, delay)`, with the origin of `column` in each branch of a union below
    it in the plan; without a union, with one origin.
    """

    column: str
    delay_ms: int
    origins: tuple[Origin, ...]

    @property
    def aligned(self) -> bool:
        return any(origin.aligned for origin in self.origins)

    @property
    def unaligned(self) -> tuple[Unaligned, ...]:
        return tuple(dict.fromkeys(each for origin in self.origins for each in origin.unaligned))
