"""The kind `connect` of `read.py`: plain and aligned streams in one Spark Connect server,
asked for by a client without a JVM.

A run writes a running count, sum and maximum to Spark's `noop` sink. So all of its work is in the
server, and the client looks at the progress alone.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lockgate_testbed.process import processor_seconds
from lockgate_testbed.server_jar import server_jar
from lockgate_testbed.skew import EVENT_TIME_SQL, SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer

KINDS = ("plain Spark", "connect")
LOOK_S = 0.05
Measured = tuple[float, float]
"""Records per second by the clock, and per second of processor time of server and host."""


@contextmanager
def server() -> Iterator[tuple[ConnectServer, SparkSession]]:
    """Start a server with the extension, and a session of a client."""
    with ConnectServer(jars=[server_jar(Path("build"))]) as running:
        spark = SparkSession.builder.remote(running.url).getOrCreate()
        yield running, spark
        spark.stop()


def rate(
    spark: SparkSession, pid: int, bootstrap: str, topic: SkewedTopic, budget: int, kind: str, payload: bool
) -> Measured:
    """From the end of a run's first batch to the end of its last. `pid`: the server's."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", topic.name).option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", budget)
    if kind == "connect":
        reader = reader.option("lockgate.align", "true").option("lockgate.maxDrift", "9 minutes")
        reader = reader.option("lockgate.eventTime", EVENT_TIME_SQL) if payload else reader
    time = f"timestamp_millis({EVENT_TIME_SQL})" if payload else "timestamp"
    read = reader.load().selectExpr(f"{time} AS at", "length(value) AS size")
    counted = read.groupBy().agg({"*": "count", "size": "sum", "at": "max"})
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = counted.writeStream.format("noop").outputMode("complete").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        ends = followed(query, lambda: spent(pid))
    steady = sum(rows for _, _, rows in ends[1:])
    assert sum(rows for _, _, rows in ends) == topic.records
    return steady / (ends[-1][0] - ends[0][0]), steady / (ends[-1][1] - ends[0][1])


def followed(query: Any, spent: Callable[[], float]) -> list[tuple[float, float, int]]:
    """Of each batch that had rows: its end by the clock (s), the processor time until then (s) as
    it was seen a look later, and its rows.
    """
    seen: dict[int, tuple[float, float, int]] = {}
    ended = False
    while not ended:
        ended = query.awaitTermination(LOOK_S)
        for found in query.recentProgress:
            rows = sum(source["numInputRows"] for source in found["sources"])
            if found["batchId"] not in seen and rows > 0:
                began = datetime.fromisoformat(found["timestamp"].replace("Z", "+00:00")).timestamp()
                end = began + found["durationMs"]["triggerExecution"] / 1_000
                seen[found["batchId"]] = (end, spent(), rows)
    return [seen[batch] for batch in sorted(seen)]


def spent(pid: int) -> float:
    """Return the processor seconds of a server and of the processes that it has started."""
    seconds = processor_seconds(pid)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        # threads end, and so do the processes that Hadoop starts for each file
        with suppress(OSError):
            seconds += sum(processor_seconds(int(child)) for child in thread.joinpath("children").read_text().split())
    return seconds
