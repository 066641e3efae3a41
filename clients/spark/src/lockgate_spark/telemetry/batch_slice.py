"""The windows of a batch, for foreachBatch functions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """The windows that a batch covers: event times from `start` to `end` (exclusive), in ms.

    Examples:
        In a foreachBatch function:

        >>> hours = lockgate_spark.slice_of(batch)
        >>> if hours.complete:
        ...     hours.rows(batch).write.mode("overwrite").parquet(f"{folder}/{hours.start}")

    Attributes:
        complete: Whether the batch has every record of these windows: none was deleted, none lies
            before the query's first offset, and none was found in the log after the batch, within
            `max_out_of_orderness`.
        missing_from: Partitions that may lack earlier records of these windows.
        stragglers_in: Partitions in which records of these windows come after the batch. Such
            records are searched for only if the windows would otherwise be complete.

    """

    start: int
    end: int
    complete: bool
    missing_from: tuple[str, ...] = ()
    stragglers_in: tuple[str, ...] = ()

    def rows(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """Return the rows of `batch` that belong to these windows. `event_time` is a column or a
        SQL expression that gives a timestamp.
        """
        return batch.where(self._condition(event_time))

    def stragglers(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """Return the rows of `batch` outside these windows. They usually belong to windows of
        earlier batches.

        Merge them into your results; do not overwrite results with them.
        """
        return batch.where(f"NOT coalesce({self._condition(event_time)}, false)")

    def _condition(self, event_time: str) -> str:
        return f"(({event_time}) >= timestamp_millis({self.start}L) AND ({event_time}) < timestamp_millis({self.end}L))"
