"""What the clients' programs share: streams from Kafka, and windows that are counted."""

import sys
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

FOLDER, BOOTSTRAP, TOPIC = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
spark = SparkSession.builder.getOrCreate()


def stream(format_: str = "kafka", **options: str) -> DataFrame:
    """The topic from its beginning, 300 offsets a batch. Dots in options are two underscores."""
    reader = spark.readStream.format(format_).option("kafka.bootstrap.servers", BOOTSTRAP).option("subscribe", TOPIC)
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "300")
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader.load()


def started(df: DataFrame, name: str) -> Any:
    """A query that counts rows in windows of an hour, into the table `name`."""
    counted = df.withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", "1 hour")).count()
    writer = counted.writeStream.outputMode("update").format("memory").queryName(name)
    return writer.option("checkpointLocation", str(FOLDER / name)).trigger(availableNow=True).start()


def started_with_python(writer: Any) -> Any:
    """A query with a foreachBatch function. Spark gives that function's Python ten seconds to
    start, whatever its conf says. Beside other programs it may need several attempts.
    """
    for _ in range(9):
        try:
            return writer.start()
        except PySparkException as error:
            if "failed to connect back" not in str(error):
                raise
    return writer.start()


def counted(name: str) -> int:
    """The rows in all windows of a table."""
    last = spark.table(name).groupBy("window").agg(F.max("count").alias("rows"))
    return int(last.agg(F.sum("rows")).collect()[0][0])


def metrics(query: Any) -> dict[str, str]:
    """The metrics of the query's only source."""
    return dict(query.lastProgress["sources"][0]["metrics"])
