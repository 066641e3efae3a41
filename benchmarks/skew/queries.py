"""The queries of the benchmark, one for a topic and one for two. Their counts are exact unless rows
come too late for Spark.
"""

import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from benchmarks.skew.history import drift_ms, ends, logs_hold, rows_lost
from benchmarks.skew.shapes import JOIN_WITHIN_MS, Shape, Topic
from lockgate_spark import Alignment, align_all, alignment_of
from lockgate_testbed.process import processor_seconds
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


@dataclass(frozen=True, slots=True)
class Reading:
    """A run to the end of its topics. `counted`: rows by hour. `progress`: Spark's own, as JSON.
    `ended`: by batch, when its sink had it: seconds by the clock, and of processor time of driver
    and JVM. `look_ups`: of each plan.
    """

    counted: dict[int, int] = field(default_factory=dict)
    progress: list[str] = field(default_factory=list)
    ended: dict[int, tuple[float, float]] = field(default_factory=dict)
    look_ups: list[int] = field(default_factory=list)


class Run:
    """One run of a shape's query to the end of its topics, in plain Spark where `max_drift_ms` is
    None. `delay_ms`: in place of the shape's.
    """

    def __init__(self, shape: Shape, max_drift_ms: int | None, delay_ms: int | None = None) -> None:
        self._shape, self._max_drift_ms = shape, max_drift_ms
        self._delay = f"{shape.delay_ms if delay_ms is None else delay_ms} milliseconds"
        self._found = Reading()

    def outcome(self, spark: SparkSession, bootstrap: str, checkpoint: Path) -> Outcome:
        """Run the query and return its outcome. Raises as `read`."""
        shape = self._shape
        began = time.perf_counter()
        found = self.read(spark, bootstrap, checkpoint)
        seconds = time.perf_counter() - began
        boundaries = [ends(progress) for progress in found.progress]
        return Outcome(
            shape=shape.name,
            aligned=self._max_drift_ms is not None,
            rows=sum(shape.expected.values()),
            rows_lost=rows_lost(shape, found.counted),
            drift_ms=max(drift_ms(shape, boundary) for boundary in boundaries),
            batches=len(boundaries),
            seconds=seconds,
            look_ups=tuple(found.look_ups),
            topics=len(shape.topics),
            disorder_ms=shape.disorder_ms,
        )

    def read(self, spark: SparkSession, bootstrap: str, checkpoint: Path) -> Reading:
        """Run the query. Raises the error that ended it, and `AssertionError` if it ended before
        the logs did.
        """
        shape = self._shape
        self._pids = os.getpid(), cast(Any, spark.sparkContext._gateway).proc.pid
        streams = [_stream(spark, bootstrap, topic) for topic in shape.topics]
        if self._max_drift_ms is not None:
            alignment = Alignment(max_drift=self._max_drift_ms, max_out_of_orderness=shape.disorder_ms)
            streams = align_all(streams, alignment)
        result, take = (
            (self._windows(streams[0]), self._count) if len(streams) == 1 else (self._pairs(*streams), self._add)
        )
        writer = result.writeStream.outputMode("update" if len(streams) == 1 else "append").foreachBatch(take)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        self._found.progress.extend(progress.json for progress in query.recentProgress)
        last = ends(self._found.progress[-1])
        assert all(logs_hold(topic, last) for topic in shape.topics), f"{shape.name} was not read to its end"
        return self._found

    def _count(self, batch: DataFrame, number: int) -> None:
        # In update mode a batch brings the new count of each window that it changed: the latest one
        # holds.
        rows = batch.selectExpr(f"{_hour('window.start')} AS hour", "count").collect()
        self._found.counted.update({row["hour"]: row["count"] for row in rows})
        self._note(batch, number)

    def _add(self, batch: DataFrame, number: int) -> None:
        counted = self._found.counted
        for row in batch.groupBy("hour").count().collect():
            counted[row["hour"]] = counted.get(row["hour"], 0) + row["count"]
        self._note(batch, number)

    def _note(self, batch: DataFrame, number: int) -> None:
        self._found.ended[number] = time.perf_counter(), sum(map(processor_seconds, self._pids))
        plan = alignment_of(batch)
        if plan is not None:
            self._found.look_ups.append(plan.look_ups)

    def _windows(self, stream: DataFrame) -> DataFrame:
        return stream.withWatermark("timestamp", self._delay).groupBy(F.window("timestamp", "1 hour")).count()

    def _pairs(self, first: DataFrame, second: DataFrame) -> DataFrame:
        left = first.selectExpr("key AS k", "timestamp AS t").withWatermark("t", self._delay)
        right = second.selectExpr("key AS k2", "timestamp AS t2").withWatermark("t2", self._delay)
        within = F.expr(f"k = k2 AND t2 BETWEEN t AND t + INTERVAL {JOIN_WITHIN_MS // 1000} SECONDS")
        return left.join(right, within).selectExpr(f"{_hour('t')} AS hour")


def _stream(spark: SparkSession, bootstrap: str, topic: Topic) -> DataFrame:
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", topic.budget).load()


def _hour(column: str) -> str:
    return f"CAST((unix_millis({column}) - {T0_MS}) DIV {HOUR_MS} AS INT)"
