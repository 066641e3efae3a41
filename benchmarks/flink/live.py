"""How long a record waits for its window to close behind live producers, one of which is silent or
late.

Plain Spark, lockgate and Flink with alignment read one topic at the same time, on two cores: the
producers are those of `bench-live`. All count rows in windows of 10 s with a delay of 10 s; Spark
starts a batch each second. Flink has `withIdleness(5 s)`, without which a silent partition stops
its windows for good. A record's seconds run from its making to the moment at which the watermark
has closed its window. A row is lost if it was read and never counted.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import lockgate_spark
from benchmarks.flink.account import LOCKGATE, PLAIN
from benchmarks.flink.flink_runs import DEFAULTS, Flink
from benchmarks.flink.spark_runs import watermark_ms
from benchmarks.flink.trace import Numbers, Seconds
from benchmarks.live.feed import Feed, now_ms
from benchmarks.live.shapes import SHAPES
from benchmarks.skew.history import ends

CASES = ("one silent, one empty", "one lags 30 s")
WINDOW_MS = DELAY_MS = 10_000
IDLE_MS = 5_000
MEASURED_S = 60
AFTER_S = 60  # a record 30 s late, its window and the delay
FLINK = "Flink, aligned"
COLUMNS = ("live producers", "system", "rows lost", "s to the closed window, p50 and p99")


@dataclass(frozen=True, slots=True)
class Live:
    """One system in one case. `p50`, `p99`: seconds to the closed window, of the records in one."""

    case: str
    system: str
    read: int
    lost: int
    p50: float | None
    p99: float | None

    def __str__(self) -> str:
        waited = "–" if self.p50 is None else f"{self.p50:.1f}, {self.p99:.1f}"
        return f"| {self.case} | {self.system} | {self.lost:,} of {self.read:,} | {waited} |"


class Query:
    """A query of Spark over the topic."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, aligned: bool, checkpoint: str) -> None:
        self._topic = topic
        self._counted: dict[int, int] = {}
        self._ended: dict[int, tuple[float, int]] = {}
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        stream = reader.option("subscribe", topic).option("startingOffsets", "earliest").load()
        stream = lockgate_spark.align(stream) if aligned else stream
        counted = stream.withWatermark("timestamp", f"{DELAY_MS} milliseconds").groupBy(
            F.window("timestamp", f"{WINDOW_MS} milliseconds")
        )
        writer = counted.count().writeStream.outputMode("update").foreachBatch(self._take)
        writer = writer.option("checkpointLocation", checkpoint).trigger(processingTime="1 second")
        self._query: StreamingQuery = writer.start()

    def _take(self, batch: DataFrame, number: int) -> None:
        rows = batch.selectExpr("unix_millis(window.start) AS start", "count").collect()
        self._counted.update({row["start"]: row["count"] for row in rows})
        self._ended[number] = time.time(), sum(self._counted.values())

    def end(self, partitions: int) -> tuple[Seconds, Numbers, Numbers, int]:
        """Stop it: clock, watermark and positions after each batch, and the rows lost."""
        self._query.stop()
        progress = (json.loads(each.json) for each in self._query.recentProgress)
        told = [each for each in progress if each["batchId"] in self._ended]
        at = [[ends(json.dumps(each)).get((self._topic, n), 0) for n in range(partitions)] for each in told]
        clock, counted = zip(*(self._ended[each["batchId"]] for each in told), strict=True)
        mark = np.array([watermark_ms(each["eventTime"].get("watermark")) for each in told])
        return np.array(clock), mark, np.array(at), sum(at[-1]) - counted[-1]


def measure(spark: SparkSession, flink: Flink, bootstrap: str, case: str) -> Iterator[Live]:
    """Run all systems at once, over the same topic."""
    shape = SHAPES[case]
    feed = Feed(bootstrap, f"live-{time.time_ns()}", shape, payload=False)
    partitions, settle = len(shape.producers), int(shape.settle_s)
    order = {
        "topics": feed.topic,
        "sizes": ",".join("0" * partitions),
        "window_ms": WINDOW_MS,
        "delay_ms": DELAY_MS,
        "drift_ms": DELAY_MS,
    }
    setting = replace(DEFAULTS, idle_ms=IDLE_MS)
    with (
        feed.running(),
        ThreadPoolExecutor() as pool,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        queries = {
            system: Query(spark, bootstrap, feed.topic, system == LOCKGATE, f"{folder}/{system}")
            for system in (PLAIN, LOCKGATE)
        }
        job = pool.submit(flink.job, order, setting, partitions, settle + MEASURED_S + AFTER_S)
        time.sleep(settle)
        begins = now_ms()
        time.sleep(MEASURED_S)
        span_ms = begins, now_ms()
        (clock, _, mark, at), answer = job.result()
        found = {system: query.end(partitions) for system, query in queries.items()}
    found[FLINK] = clock, mark, at, answer["late"]
    for system, (clock, mark, at, lost) in found.items():
        waited = np.array(list(_waited(feed, span_ms, clock, mark, at)))
        ranks = np.percentile(waited, [50, 99]).tolist() if len(waited) else [None, None]
        yield Live(case, system, int(at[-1].sum()), lost, *ranks)


def _waited(feed: Feed, span_ms: tuple[int, int], clock: Seconds, mark: Numbers, at: Numbers) -> Iterator[float]:
    """Seconds from the making of each record of the span to its closed window. A record that came
    after its window was closed has none.
    """
    for partition, records in enumerate(feed.written):
        for offset, (made, stamp) in enumerate(records[: int(at[-1, partition])]):
            closed = int(np.searchsorted(mark, stamp - stamp % WINDOW_MS + WINDOW_MS))
            read = int(np.searchsorted(at[:, partition], offset, side="right"))
            if span_ms[0] <= made < span_ms[1] and read <= closed < len(clock):
                yield float(clock[closed] - made / 1000)
