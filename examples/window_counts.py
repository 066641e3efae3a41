r"""One job of a group, until SIGTERM. It counts the records of a topic by minute of event time, in
a table of FOLDER/counts.db.

    lockgate serve &
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \
        examples/window_counts.py BROKERS TOPIC --data FOLDER

docker-compose.yml starts it twice (profile `jobs`). A batch replaces the counts of those minutes
that it has brought records of. So a batch that is repeated after a crash changes nothing.
"""

import argparse
import logging
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

import lockgate_spark
from lockgate import watermark
from lockgate_spark import Alignment, Coordinator

# No row comes late while the group's max_drift and `idle_timeout` are at most this.
DELAY = "5 minutes"
TABLE = "CREATE TABLE IF NOT EXISTS counts (minute TEXT PRIMARY KEY, records INTEGER NOT NULL)"


def into(table: Path) -> Callable[[DataFrame, int], None]:
    """Make the function that writes a batch's minutes into `table`, and prints a line for a new
    one.
    """
    newest = ""

    def upsert(batch: DataFrame, batch_id: int) -> None:
        nonlocal newest
        counts = sorted((_minute(row["window"]["start"]), row["count"]) for row in batch.collect())
        with sqlite3.connect(table) as connection:
            connection.execute(TABLE)
            connection.executemany(
                "INSERT INTO counts VALUES (?, ?) ON CONFLICT DO UPDATE SET records = excluded.records", counts
            )
        connection.close()
        if counts and counts[-1][0] > newest:
            newest = counts[-1][0]
            plan = lockgate_spark.alignment_of(batch)
            group = (
                "replayed"
                if plan is None or plan.group_watermark is None
                else f"the group is at {watermark.instant(plan.group_watermark)}"
            )
            print(f"batch {batch_id}: up to minute {newest}; {group}", flush=True)

    return upsert


def _minute(start: datetime) -> str:
    return start.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Alive(StreamingQueryListener):
    """Touches a file whenever the query says that it lives: after each batch, and every 10 s while
    there is nothing that it may read.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def onQueryStarted(self, event: object) -> None: ...  # noqa: N802 – Spark's name

    def onQueryProgress(self, event: object) -> None:  # noqa: N802 – Spark's name
        """After a batch."""
        self._file.touch()

    def onQueryIdle(self, event: object) -> None:  # noqa: N802 – Spark's name
        """Nothing to read, or held by the group."""
        self._file.touch()

    def onQueryTerminated(self, event: object) -> None: ...  # noqa: N802 – Spark's name


def start(spark: SparkSession, brokers: str, topic: str, coordinator: Coordinator, data: Path) -> StreamingQuery:
    """Start the query."""
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 1_500)
        .load()
    )
    aligned = lockgate_spark.align(stream, Alignment(coordinator=coordinator))
    counts = aligned.withWatermark("timestamp", DELAY).groupBy(F.window("timestamp", "1 minute")).count()
    query = counts.writeStream.queryName(topic).outputMode("update").foreachBatch(into(data / "counts.db"))
    return query.option("checkpointLocation", str(data / "checkpoint")).trigger(processingTime="1 second").start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="Kafka's bootstrap servers, host:port")
    parser.add_argument("topic")
    parser.add_argument(
        "--coordinator", default="http://127.0.0.1:8080", help="URL of the coordinator (default %(default)s)"
    )
    parser.add_argument("--group", default="shop", help="the group to join (default: %(default)s)")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder for the checkpoint and the counts, of this job alone"
    )
    parser.add_argument("--alive", type=Path, help="a file that is touched while the query lives")
    chosen = parser.parse_args()

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("lockgate").setLevel(logging.INFO)
    spark = SparkSession.builder.appName(chosen.topic).getOrCreate()
    if chosen.alive:
        spark.streams.addListener(Alive(chosen.alive))
    coordinator = Coordinator(chosen.coordinator, group=chosen.group, token=os.environ.get("LOCKGATE_TOKEN") or None)
    query = start(spark, chosen.brokers, chosen.topic, coordinator, chosen.data)
    # Not awaitTermination: a signal is heard by Python alone, and not while it waits for Java.
    while query.isActive and not stopping.wait(1):
        pass
    if stopping.is_set():
        query.stop()  # the next start repeats the batch that this interrupts
    query.awaitTermination()  # raises what the query has failed with
    spark.stop()


if __name__ == "__main__":
    main()
