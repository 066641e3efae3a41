"""The queries of the benchmark, one for a topic and one for two. Their counts are exact unless rows
come too late for Spark.
"""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from benchmarks.skew.history import drift_ms, ends, logs_hold, rows_lost
from benchmarks.skew.shapes import JOIN_WITHIN_MS, Shape, Topic
from lockgate_spark import Alignment, align_all, alignment_of
from lockgate_testbed.skew import HOUR_MS, T0_MS


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `rows_lost` of `rows`; `drift_ms`: the most at any batch boundary; `look_ups`: of
    each plan, over all `topics`; `disorder_ms`: as the query received it.
    """

    shape: str
    aligned: bool
    rows: int
    rows_lost: int
    drift_ms: int
    batches: int
    seconds: float
    look_ups: tuple[int, ...]
    topics: int = 1
    disorder_ms: int = 0

    @property
    def median_look_ups(self) -> float:
        """The median of the look-ups of a plan; 0 in a native run."""
        return statistics.median(self.look_ups) if self.look_ups else 0


class Run:
    """One run of a shape's query to the end of its topics."""

    def __init__(self, shape: Shape, aligned: bool) -> None:
        self._shape, self._aligned = shape, aligned
        self._counted: dict[int, int] = {}
        self._look_ups: list[int] = []

    def outcome(self, spark: SparkSession, bootstrap: str, checkpoint: Path) -> Outcome:
        """Run the query and return its outcome. Raises the error that ended it, and
        `AssertionError` if it ended before the logs did.
        """
        shape = self._shape
        streams = [_stream(spark, bootstrap, topic) for topic in shape.topics]
        if self._aligned:
            streams = align_all(streams, Alignment(max_drift="10 minutes", max_out_of_orderness=shape.disorder_ms))
        result, take = (
            (_windows(shape, streams[0]), self._count) if len(streams) == 1 else (_pairs(shape, *streams), self._add)
        )
        writer = result.writeStream.outputMode("update" if len(streams) == 1 else "append").foreachBatch(take)
        began = time.perf_counter()
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - began
        boundaries = [ends(progress.json) for progress in query.recentProgress]
        assert all(logs_hold(topic, boundaries[-1]) for topic in shape.topics), f"{shape.name} was not read to its end"
        return Outcome(
            shape=shape.name,
            aligned=self._aligned,
            rows=sum(shape.expected.values()),
            rows_lost=rows_lost(shape, self._counted),
            drift_ms=max(drift_ms(shape, boundary) for boundary in boundaries),
            batches=len(boundaries),
            seconds=seconds,
            look_ups=tuple(self._look_ups),
            topics=len(shape.topics),
            disorder_ms=shape.disorder_ms,
        )

    def _count(self, batch: DataFrame, _: int) -> None:
        # In update mode a batch brings the new count of each window that it changed: the latest one
        # holds.
        self._note(batch)
        self._counted.update(
            {
                row["hour"]: row["count"]
                for row in batch.selectExpr(f"{_hour('window.start')} AS hour", "count").collect()
            }
        )

    def _add(self, batch: DataFrame, _: int) -> None:
        self._note(batch)
        for row in batch.groupBy("hour").count().collect():
            self._counted[row["hour"]] = self._counted.get(row["hour"], 0) + row["count"]

    def _note(self, batch: DataFrame) -> None:
        plan = alignment_of(batch)
        if plan is not None:
            self._look_ups.append(plan.look_ups)


def _stream(spark: SparkSession, bootstrap: str, topic: Topic) -> DataFrame:
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", topic.budget).load()


def _windows(shape: Shape, stream: DataFrame) -> DataFrame:
    return stream.withWatermark("timestamp", _delay(shape)).groupBy(F.window("timestamp", "1 hour")).count()


def _pairs(shape: Shape, first: DataFrame, second: DataFrame) -> DataFrame:
    left = first.selectExpr("key AS k", "timestamp AS t").withWatermark("t", _delay(shape))
    right = second.selectExpr("key AS k2", "timestamp AS t2").withWatermark("t2", _delay(shape))
    within = F.expr(f"k = k2 AND t2 BETWEEN t AND t + INTERVAL {JOIN_WITHIN_MS // 1000} SECONDS")
    return left.join(right, within).selectExpr(f"{_hour('t')} AS hour")


def _delay(shape: Shape) -> str:
    return f"{shape.delay_ms} milliseconds"


def _hour(column: str) -> str:
    return f"CAST((unix_millis({column}) - {T0_MS}) DIV {HOUR_MS} AS INT)"
