"""Streaming queries that keep an exact account of what they counted, for the tests on a real
broker.
"""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import lockgate_spark
from lockgate_spark import BatchAlignment
from support.answers import wait_for

PATIENCE_S = 300.0  # a whole query, on a machine that does other things


def kafka_stream(spark: SparkSession, bootstrap: str, topic: str, **options: Any) -> DataFrame:
    """Spark's own Kafka source from the earliest offset; options by name, dots written as two
    underscores.
    """
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("startingOffsets", "earliest")
    )
    reader = reader.option("subscribe", topic)
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader.load()


class WindowedCount:
    """Counts rows in event-time windows; `counted` is the latest count of every window, closed or
    still open.
    """

    def __init__(self, df: DataFrame, *, delay: str = "10 minutes", window: str = "1 hour") -> None:
        self._df = df.withWatermark("timestamp", delay).groupBy(F.window("timestamp", window)).count()
        self._changed = threading.Condition()
        self.windows: dict[object, int] = {}
        self.alignments: list[BatchAlignment | None] = []
        self.finished_at: list[float] = []  # wall clock, of each batch
        self.query: StreamingQuery | None = None

    def start(self, checkpoint: Path, *, name: str | None = None, available_now: bool = True) -> "WindowedCount":
        writer = (
            self._df.writeStream.outputMode("update")
            .foreachBatch(self._take)
            .option("checkpointLocation", str(checkpoint))
        )
        writer = writer.queryName(name) if name else writer
        self.query = (
            writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime="0 seconds")
        ).start()
        return self

    def finish(self, timeout_s: float = PATIENCE_S) -> "WindowedCount":
        """Waits until the query has ended by itself. Raises the error that ended it."""
        assert self.query is not None
        assert self.query.awaitTermination(timeout_s), f"the query still runs; counted {self.counted}"
        return self

    def wait_until(self, fulfilled: Callable[["WindowedCount"], bool], timeout_s: float = PATIENCE_S) -> None:
        """Waits for a batch after which `fulfilled`."""
        with self._changed:
            assert self._changed.wait_for(lambda: fulfilled(self) or not self.running, timeout_s), (
                f"counted {self.counted} only"
            )
        assert fulfilled(self), f"the query ended; counted {self.counted}: {self.query and self.query.exception()}"

    def wait_until_idle(self) -> None:
        """Waits until Spark has looked, after the batches so far, and found nothing more to
        read.
        """
        query = self.query
        assert query is not None

        def has_looked() -> bool:
            # of a trigger that has only begun it says that no data is available, too
            status = query.status
            return not status["isDataAvailable"] and status["message"].startswith("Waiting for")

        wait_for(has_looked)

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    @property
    def running(self) -> bool:
        return self.query is not None and self.query.isActive

    @property
    def counted(self) -> int:
        return sum(self.windows.values())

    def counts_before(self, event_time: int) -> list[int]:
        """The counts of the windows that begin before an event time (ms)."""
        return [count for start, count in self.windows.items() if start.timestamp() * 1000 < event_time]  # type: ignore[attr-defined]

    @property
    def plans(self) -> list[BatchAlignment]:
        return [alignment for alignment in self.alignments if alignment is not None]

    def _take(self, batch: DataFrame, _: int) -> None:
        rows = batch.collect()
        with self._changed:
            self.alignments.append(lockgate_spark.alignment_of(batch))
            self.windows.update({row["window"]["start"]: row["count"] for row in rows})
            self.finished_at.append(time.time())
            self._changed.notify_all()


def stop_all(queries: Sequence[WindowedCount]) -> None:
    for query in queries:
        query.stop()
