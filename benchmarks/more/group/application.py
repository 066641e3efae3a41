"""Run the queries of one Spark application, and write what they did:
`python -m benchmarks.more.group.application ORDER.json`.

The order is a JSON object:

* `name`, `bootstrap`, `max_drift`, `limit_s`, and `queries` (name, topic, budget, per_second);
* `coordinator` (fields of `Coordinator`, or null), `warm_up` (a topic);
* `go` (a file to wait for), `out` (the file to write), `checkpoints` (a folder).
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lockgate_spark import Alignment, Coordinator, align, alignment_of
from lockgate_testbed.process import await_true
from lockgate_testbed.spark import session

GO_WITHIN_S = 300.0


class Drained:
    """One query and the account of its batches. `per_second`: the records that its sink takes;
    None: any number.
    """

    def __init__(self, spark: SparkSession, order: dict[str, Any], query: dict[str, Any]) -> None:
        self.name: str = query["name"]
        self.batches: list[dict[str, Any]] = []
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", order["bootstrap"])
            .option("subscribe", query["topic"])
        )
        stream = stream.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", query["budget"]).load()
        coordinator = Coordinator(source=self.name, **order["coordinator"]) if order["coordinator"] else None
        self._df = align(stream, Alignment(max_drift=order["max_drift"], coordinator=coordinator))
        self._checkpoint = str(Path(order["checkpoints"], self.name))
        self._per_second: float | None = query["per_second"]

    def start(self) -> StreamingQuery:
        """Start to read what is there by now."""
        writer = (
            self._df.writeStream.queryName(self.name)
            .foreachBatch(self._take)
            .option("checkpointLocation", self._checkpoint)
        )
        return writer.trigger(availableNow=True).start()

    def _take(self, batch: DataFrame, _: int) -> None:
        began = time.time()
        plan = alignment_of(batch)
        found = batch.selectExpr("count(1)", "unix_millis(max(timestamp))").first()
        assert found is not None
        assert plan is not None
        if self._per_second is not None:
            time.sleep(max(0.0, began + found[0] / self._per_second - time.time()))
        self.batches.append(
            {
                "planned_at": plan.planned_at,
                "ended_at": time.time(),
                "rows": found[0],
                "highest_ms": found[1],
                "target_ms": plan.target,
                "ceiling_ms": plan.read_limit,
                "limit": plan.limited_by.value,
                "plan_s": plan.seconds,
            }
        )


def main(path: str) -> None:
    order = json.loads(Path(path).read_text())
    spark = session(order["name"], cores=2)
    # The first query of a JVM pays for loading and compiling code.
    warm_up = {"name": "warm-up", "topic": order["warm_up"], "budget": 1_000, "per_second": None}
    Drained(spark, {**order, "coordinator": None}, warm_up).start().awaitTermination()
    queries = [Drained(spark, order, query) for query in order["queries"]]
    print("ready", flush=True)
    if not await_true(Path(order["go"]).exists, GO_WITHIN_S):
        raise SystemExit(f"nobody made {order['go']} within {GO_WITHIN_S:g} s")
    began = time.time()
    running = {query.name: query.start() for query in queries}
    ended = _await(running, began + order["limit_s"])
    told = {q.name: {"began": began, "ended": ended.get(q.name), "batches": list(q.batches)} for q in queries}
    out = Path(order["out"])
    out.with_suffix(".part").write_text(json.dumps(told))
    out.with_suffix(".part").replace(out)
    spark.stop()


def _await(running: dict[str, StreamingQuery], until: float) -> dict[str, float]:
    """When each ended that has read everything by then; the others are stopped. Raises the error of
    one that failed.
    """
    ended: dict[str, float] = {}
    while len(ended) < len(running) and time.time() < until:
        for name, query in running.items():
            # a part of a second will do
            if name not in ended and query.awaitTermination(0.05):  # type: ignore[arg-type]
                ended[name] = time.time()
    for query in running.values():
        query.stop()
    return ended


if __name__ == "__main__":
    main(sys.argv[1])
