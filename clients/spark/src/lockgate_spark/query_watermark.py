"""The `withWatermark` calls of a query, which `jvm.watermarks` reads from the query's plan."""

from dataclasses import dataclass

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
KAFKAS = "timestamp"  # the column of Kafka's record timestamp


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
