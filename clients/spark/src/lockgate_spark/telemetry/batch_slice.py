"""The windows of a batch, as a foreachBatch function sees them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """The windows that a batch holds: event times `start` to `end` (exclusive), ms.

    `complete`: this batch holds the whole windows. No record that may belong to them was deleted,
    or lies before the offset at which the query begins; and after the cuts no record of theirs was
    seen, as far as `disorder` reaches. `missing_from`: the splits of which earlier records may be
    missing. `stragglers_in`: the splits in which older records come later; they are looked for only
    if the windows would be complete otherwise.
    """

    start: int
    end: int
    complete: bool
    missing_from: tuple[str, ...] = ()
    stragglers_in: tuple[str, ...] = ()

    def rows(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """The rows of `batch` that lie in the slice. `event_time`: a column, or any expression that
        gives a timestamp.
        """
        return batch.where(self._condition(event_time))

    def stragglers(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """All other rows of `batch`, as a rule of windows that were handed out before. Merge them;
        they must never overwrite anything.
        """
        return batch.where(f"NOT coalesce({self._condition(event_time)}, false)")

    def _condition(self, event_time: str) -> str:
        return f"(({event_time}) >= timestamp_millis({self.start}L) AND ({event_time}) < timestamp_millis({self.end}L))"
