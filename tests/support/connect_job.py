"""The job of `support.stream_jobs` over Spark Connect: `connect_job.py KEY=VALUE…`, in a Python
without a JVM.

It prints `started`, the progress of each batch as JSON, and `finished`, or the error that ended it.
"""

import json
import sys
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

LOOK_S = 0.1


def main(settings: dict[str, str]) -> None:
    spark = SparkSession.builder.getOrCreate()
    for key, value in below("conf.", settings).items():
        spark.conf.set(key, value)
    stream = read(spark, settings)
    if "also" in settings:
        stream = stream.union(read(spark, {**settings, "option.subscribe": settings["also"]}))
    made = counted(stream, settings) if settings["windows"] == "true" else stream.select("partition", "offset")
    writer = made.writeStream.queryName(settings["name"]).format("json").option("path", settings["out"])
    writer = writer.option("checkpointLocation", settings["checkpoint"])
    batches = int(settings["batches"])
    query = (writer.trigger(processingTime="0 seconds") if batches else writer.trigger(availableNow=True)).start()
    print("started", flush=True)
    follow(query, batches)
    print("finished", flush=True)


def read(spark: SparkSession, settings: dict[str, str]) -> DataFrame:
    return spark.readStream.format(settings.get("format", "kafka")).options(**below("option.", settings)).load()


def counted(stream: DataFrame, settings: dict[str, str]) -> DataFrame:
    timed = stream.select(F.expr(settings["time"]).alias("at")).withWatermark("at", settings["delay"])
    counts = timed.groupBy(F.window("at", "1 hour")).count()
    return counts.selectExpr("unix_millis(window.start) AS begin", "count")


def follow(query: StreamingQuery, batches: int) -> None:
    """Until it has ended; it is stopped after so many batches of this run, where that is not 0."""
    seen: dict[int, Any] = {}
    while not query.awaitTermination(LOOK_S):
        tell(query, seen)
        if batches and sum(map(has_rows, seen.values())) >= batches:
            query.stop()
    tell(query, seen)


def tell(query: StreamingQuery, seen: dict[int, Any]) -> None:
    for found in query.recentProgress:
        if found["batchId"] not in seen:
            seen[found["batchId"]] = found
            print(found.json if hasattr(found, "json") else json.dumps(found), flush=True)


def has_rows(progress: Any) -> bool:
    return any(source["numInputRows"] > 0 for source in progress["sources"])


def below(prefix: str, settings: dict[str, str]) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


if __name__ == "__main__":
    main(dict(argument.split("=", 1) for argument in sys.argv[1:]))  # type: ignore[misc]
