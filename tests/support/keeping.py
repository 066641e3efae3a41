"""Queries that keep their late rows, and the records that they lose."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS, SkewedTopic
from support.queries import PATIENCE_S, kafka_stream

RECORDS, BUDGET = 8_000, 1_200
Record = tuple[int, int]
"""Partition and offset."""
KEYS = ["partition", "offset", "timestamp"]
ENDS = ("startOffset", "endOffset")


class Kept:
    """Queries that keep their late rows, in a folder."""

    def __init__(self, spark: SparkSession, kafka: KafkaBroker, topic: SkewedTopic, folder: Path) -> None:
        self.spark, self.kafka, self.topic, self.folder = spark, kafka, topic, folder
        self.alignment = Alignment(mode="observe", late_rows="keep", report=str(folder))

    def stream(self, **options: Any) -> DataFrame:
        options = {"maxOffsetsPerTrigger": BUDGET, **options}
        return kafka_stream(self.spark, self.kafka.bootstrap, self.topic.name, **options)

    def observed(self, delay: str = "10 minutes", **options: Any) -> DataFrame:
        """Read as plain Spark does, so that rows are late."""
        df = align(self.stream(**options), self.alignment)
        return df.withWatermark("timestamp", delay)

    def run(self, df: DataFrame, take: Callable[[DataFrame, int], None] | None = None, mode: str = "append") -> Any:
        writer = df.writeStream.outputMode(mode).option("checkpointLocation", str(self.folder / "checkpoint"))
        writer = writer.format("noop") if take is None else writer.foreachBatch(take)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        return query

    @property
    def table(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "checkpoint/lockgate/late_rows"))

    def all(self) -> set[Record]:
        return {(partition, offset) for partition, n in enumerate(self.topic.counts()) for offset in range(n)}

    def behind(self, query: StreamingQuery, plus_ms: int = 0) -> Counter[Record]:
        """The records whose event time, and so many ms, was at or below their batch's watermark."""
        found, below = Counter[Record](), 0
        for progress in query.recentProgress:
            starts, ends = ((json.loads(progress["sources"][0][end] or "null") or {}) for end in ENDS)
            for partition, end in ends.get(self.topic.name, {}).items():
                for offset in range(starts.get(self.topic.name, {}).get(partition, 0), end):
                    if self.topic.event_time(int(partition), offset) + plus_ms <= below:
                        found[int(partition), offset] += 1
            at = progress["eventTime"]["watermark"].replace("Z", "+00:00")
            below = int(datetime.fromisoformat(at).timestamp() * 1000)
        return found


def dropped(query: StreamingQuery) -> int:
    return sum(op["numRowsDroppedByWatermark"] for p in query.recentProgress for op in p["stateOperators"])


def records(rows: DataFrame) -> Counter[Record]:
    return Counter((row["partition"], row["offset"]) for row in rows.select("partition", "offset").collect())


def collected(into: set[Record], actions: int = 1) -> Callable[[DataFrame, int], None]:
    def take(batch: DataFrame, _: int) -> None:
        into.update(records(batch))
        for _ in range(actions - 1):
            batch.write.format("noop").mode("append").save()

    return take


def out_of_order(kept: Kept, topic: str, late_rows_topic: str | None = None, **options: Any) -> DataFrame:
    """An aligned stream with 2,000 records, some of them three hours older than those around."""
    minute = [T0_MS + 60_000 * n - (3 * HOUR_MS if n % 50 == 49 else 0) for n in range(200, 1_200)]
    if not topics.partitions(kept.kafka.bootstrap, topic):
        topics.fill(kept.kafka.bootstrap, topic, [list(zip(minute, range(1_000), strict=True))] * 2)
    stream = kafka_stream(kept.spark, kept.kafka.bootstrap, topic, maxOffsetsPerTrigger=200, **options)
    alignment = Alignment(late_rows="keep", late_rows_path=str(kept.folder / "of mine"), max_out_of_orderness=1_000)
    alignment = replace(alignment, late_rows_topic=late_rows_topic)
    return align(stream, alignment).withWatermark("timestamp", "10 minutes").dropDuplicates(KEYS)


def lost_of(output: set[Record]) -> Counter[Record]:
    lost = {(partition, offset) for partition in (0, 1) for offset in range(1_000)} - output
    assert len(lost) > 10
    return Counter(lost)
