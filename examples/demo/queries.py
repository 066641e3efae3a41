"""The query of the demo: rows counted in windows of an hour, of a Kafka topic. With lockgate it is
the same query and one line more.
"""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyspark.sql.functions as F
from examples.demo.history import Batch, Run
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import lockgate_spark
from lockgate_spark import Alignment, BatchAlignment

POLL_S = 0.2  # so long a signal waits at most while a query runs


class WindowedCount:
    """One query over one topic, to be run once, to what is there at its start.

    `budget`: records a batch. `alignment`: None for Spark as it is. `told`: called with the plan of
    each batch.
    """

    def __init__(
        self,
        name: str,
        *,
        budget: int,
        delay: str = "10 minutes",
        alignment: Alignment | None = None,
        told: Callable[[BatchAlignment], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._budget, self._delay, self._alignment, self._told = budget, delay, alignment, told
        self._counts: dict[datetime, int] = {}
        self._plans: list[BatchAlignment] = []
        self._query: StreamingQuery | None = None
        self._began = self._seconds = 0.0

    def start(self, spark: SparkSession, bootstrap: str, topic: str, checkpoints: Path) -> None:
        """Start it; its seconds count from here."""
        stream = (
            spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
        )
        df = stream.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self._budget).load()
        if self._alignment is not None:
            df = lockgate_spark.align(df, self._alignment)
        # Grouped by the window itself: grouped by window.start Spark never takes a row for late,
        # nor ever forgets a window.
        counted = df.withWatermark("timestamp", self._delay).groupBy(F.window("timestamp", "1 hour")).count()
        writer = counted.writeStream.queryName(self.name).outputMode("update").foreachBatch(self._take)
        self._began = time.perf_counter()
        self._query = (
            writer.option("checkpointLocation", str(checkpoints / self.name)).trigger(availableNow=True).start()
        )

    def ended(self) -> bool:
        """Wait a little, and return true once the query has read everything. Raises the query's own
        error.
        """
        assert self._query is not None
        # a part of a second will do
        if not self._seconds and self._query.awaitTermination(POLL_S):  # type: ignore[arg-type]
            self._seconds = time.perf_counter() - self._began
        return self._seconds > 0

    def run(self) -> Run:
        """Return the history of the run, once it has ended."""
        assert self._query is not None
        batches = tuple(Batch.from_progress(progress.json) for progress in self._query.recentProgress)
        return Run(self.name, self._seconds, batches, self._counts, tuple(self._plans))

    def _take(self, batch: DataFrame, _: int) -> None:
        # In update mode a batch brings the new count of each window that it changed: the latest one
        # holds.
        self._counts.update({row["window"]["start"]: row["count"] for row in batch.collect()})
        plan = lockgate_spark.alignment_of(batch)
        if plan is not None:
            self._plans.append(plan)
            self._told(plan)
