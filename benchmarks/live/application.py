"""One driver of the benchmark, plain Spark or aligned.

    python -m benchmarks.live.application native|aligned FOLDER

The driver takes orders from the folder, one after the other. N.order is a JSON object with
`bootstrap`, `topics` (a query for each), `delay_ms`, `trigger_ms`, `payload`, `options` (of
`Alignment`) and `coordinator` (fields of `Coordinator`, or null).

The driver says "began N" once each query has had a batch. Once there is N.stop it stops the queries
and writes N.json: by topic the rows of every batch, and the offsets that the query had come to.
"""

import json
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed.process import await_true
from lockgate_testbed.spark import session

PATIENCE_S = 600.0
CONF = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}
STAMP = "timestamp_millis(CAST(split(CAST(value AS STRING), ',')[0] AS BIGINT))"
MADE = "CAST(split(CAST(value AS STRING), ',')[1] AS BIGINT)"


class Live:
    """One query. A row that Spark drops for being late is the one thing that it has not got."""

    def __init__(self, spark: SparkSession, order: dict[str, Any], topic: str, aligned: bool) -> None:
        self._order, self._topic = order, topic
        # partition, offset, made, and when foreachBatch had it; in ms
        self.rows: list[tuple[int, int, int, int]] = []
        self.batches = 0
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", order["bootstrap"])
            .option("subscribe", topic)
        )
        stream = reader.option("startingOffsets", "earliest").load()
        stream = align(stream, self._alignment()) if aligned else stream
        event_time = STAMP if order["payload"] else "timestamp"
        stream = stream.selectExpr("partition", "offset", f"{event_time} AS at", f"{MADE} AS made")
        # Deduplication drops a late row, as every stateful operator does, and gives every other one
        # at once.
        self._df = stream.withWatermark("at", f"{order['delay_ms']} milliseconds").dropDuplicates(
            ["partition", "offset", "at"]
        )

    def _alignment(self) -> Alignment:
        order = self._order
        options = {**order["options"], "event_time": STAMP if order["payload"] else None}
        coordinator = order["coordinator"] and Coordinator(source=self._topic, **order["coordinator"])
        return Alignment(**options, coordinator=coordinator or None)

    def start(self, checkpoint: str) -> StreamingQuery:
        """Start to read."""
        writer = (
            self._df.writeStream.queryName(self._topic)
            .foreachBatch(self._take)
            .option("checkpointLocation", checkpoint)
        )
        return writer.trigger(processingTime=f"{self._order['trigger_ms']} milliseconds").start()

    def _take(self, batch: DataFrame, _: int) -> None:
        at = time.time_ns() // 1_000_000
        self.rows += [(row[0], row[1], row[2], at) for row in batch.select("partition", "offset", "made").collect()]
        self.batches += 1


def ends(query: StreamingQuery, topic: str) -> dict[str, int]:
    """Return by partition the first offset that no batch has read, from the last batch."""
    progress = query.lastProgress
    assert progress is not None
    found: Any = progress["sources"][0]["endOffset"]
    return dict((json.loads(found) if isinstance(found, str) else found)[topic])


def serve(spark: SparkSession, order: dict[str, Any], number: int, folder: Path, aligned: bool) -> None:
    """Carry one order out. Raises the error that ended a query."""
    lives = [Live(spark, order, topic, aligned) for topic in order["topics"]]
    # Spark's maintenance of state may go on writing into a checkpoint for a moment.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoints:
        queries = [live.start(str(Path(checkpoints, str(n)))) for n, live in enumerate(lives)]
        _until(lambda: all(live.batches for live in lives), queries)
        print(f"began {number}", flush=True)
        _until((folder / f"{number}.stop").exists, queries)
        for query in queries:
            query.stop()
    told = {
        live._topic: {
            "rows": live.rows,
            "ends": ends(query, live._topic),
            "batches": live.batches,
            "metrics": _metrics(query),
        }
        for live, query in zip(lives, queries, strict=True)
    }
    put(folder / f"{number}.json", told)


def _until(holds: Any, queries: list[StreamingQuery]) -> None:
    assert await_true(lambda: holds() or not all(query.isActive for query in queries), PATIENCE_S), (
        "nothing within ten minutes"
    )
    for query in queries:
        if not query.isActive:
            raise query.exception() or RuntimeError("a query ended")


def _metrics(query: StreamingQuery) -> dict[str, str]:
    progress = query.lastProgress
    return {} if progress is None else dict(progress["sources"][0].get("metrics") or {})


def put(path: Path, what: Any) -> None:
    """Write JSON that is there as a whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(what))
    part.replace(path)


def main(way: str, folder: Path) -> None:
    spark = session(f"bench-live {way}", cores=2, conf=CONF)
    for number in count():
        order = folder / f"{number}.order"
        assert await_true(order.exists, PATIENCE_S), f"no {order} within {PATIENCE_S:g} s"
        serve(spark, json.loads(order.read_text()), number, folder, way == "aligned")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
