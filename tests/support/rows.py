"""A streaming query that writes down which records each batch holds, and by which plan."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from lockgate_spark import BatchAlignment, alignment_of
from lockgate_spark.gates.foreach_batch import Work
from support.answers import wait_for
from support.queries import PATIENCE_S


class Row(NamedTuple):
    """A record in the log."""

    topic: str
    partition: int
    offset: int


class Rows:
    """The records of `df`, which has Kafka's columns, in the order of the batches. `work`: called
    in each batch, after it was noted.
    """

    def __init__(self, df: DataFrame, work: Callable[[DataFrame, int], None] | None = None) -> None:
        self._df, self._work = df, work
        self.batches: list[list[Row]] = []
        self.plans: list[BatchAlignment | None] = []
        self.query: StreamingQuery | None = None

    def start(self, checkpoint: Path, available_now: bool = True, handler: Work | None = None) -> "Rows":
        """`handler`: the foreachBatch function, if it is to be another than `take`."""
        writer = self._df.writeStream.foreachBatch(handler or self.take).option("checkpointLocation", str(checkpoint))
        self.query = (
            writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime="0 seconds")
        ).start()
        return self

    def finish(self, timeout_s: float = PATIENCE_S) -> "Rows":
        """Waits until the query has ended by itself. Raises the error that ended it."""
        assert self.query is not None
        assert self.query.awaitTermination(timeout_s), f"the query still runs; it has read {len(self.all)} rows"
        return self

    def wait_until(self, fulfilled: Callable[["Rows"], object], timeout_s: float = PATIENCE_S) -> None:
        wait_for(lambda: fulfilled(self) or not self.running, timeout_s)
        assert fulfilled(self), f"the query ended: {self.query and self.query.exception()}"

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    @property
    def running(self) -> bool:
        return self.query is not None and self.query.isActive

    @property
    def all(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]

    def take(self, batch: DataFrame, batch_id: int) -> None:
        rows = [Row(*row) for row in batch.select("topic", "partition", "offset").collect()]
        self.plans.append(alignment_of(batch))
        self.batches.append(sorted(rows))
        if self._work is not None:
            self._work(batch, batch_id)
