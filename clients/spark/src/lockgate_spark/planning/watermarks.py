"""What a query's own `withWatermark`s stand on, as `jvm.watermarks` finds it in the query's plan."""

from dataclasses import dataclass

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
KAFKAS = "timestamp"  # the column of Kafka's record timestamp


@dataclass(frozen=True, slots=True)
class Origin:
    """What a column is made of in one source. `aligned`: the source is. `column`: its column that is passed through as it is, else None.
    `text`: as SQL. `source`: the index of that source, where it is aligned; None where it is made of several.
    """

    aligned: bool
    column: str | None
    text: str
    source: int | None = None


@dataclass(frozen=True, slots=True)
class QueryWatermark:
    """A `withWatermark(column, delay)`. More than one origin: a union."""

    column: str
    delay_ms: int
    origins: tuple[Origin, ...]

    @property
    def aligned(self) -> bool:
        """Whether it stands on an aligned source."""
        return any(origin.aligned for origin in self.origins)
