"""The `withWatermark`s of a query and the columns under them, as `jvm.watermarks` reads them from
the query's plan.
"""

from dataclasses import dataclass
from typing import Protocol

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
KAFKAS = "timestamp"  # the column of Kafka's record timestamp


@dataclass(frozen=True, slots=True)
class Unaligned:
    """A stream that is not aligned. `text`: as Spark names it. `reader`: the code that reads it,
    where it is Kafka and could be aligned.
    """

    text: str
    reader: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a column is made of in one source. `aligned`: the source is. `column`: its column that
    is passed through as it is, else None. `text`: as SQL. `source`: the index of that source, where
    it is aligned; None where it is made of several. `unaligned`: the streams under it that are not.
    """

    aligned: bool
    column: str | None
    text: str
    source: int | None = None
    unaligned: tuple[Unaligned, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryWatermark:
    """A `withWatermark(column, delay)`. More than one origin: a union."""

    column: str
    delay_ms: int
    origins: tuple[Origin, ...]

    @property
    def aligned(self) -> bool:
        """Return whether it stands on an aligned source."""
        return any(origin.aligned for origin in self.origins)

    @property
    def unaligned(self) -> tuple[Unaligned, ...]:
        """The streams under it that are not aligned, each once."""
        return tuple(dict.fromkeys(each for origin in self.origins for each in origin.unaligned))


class Checkpointed(Protocol):
    """The watermarks of a query, from its checkpoint and its plan."""

    def logged_watermark(self) -> int | None:
        """Spark's own watermark (ms) in the checkpoint; None without one."""

    def watermarks(self) -> list[QueryWatermark]:
        """Return the query's own `withWatermark`s."""

    def takes_highest(self) -> bool:
        """Return whether Spark takes the highest of several watermarks:
        `multipleWatermarkPolicy=max`.
        """
