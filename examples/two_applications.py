r"""Two applications in one group, in two terminals: one reads Kafka, the other one files, and
neither gets ahead of the other.

    lockgate serve &
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \
        examples/two_applications.py kafka BROKERS TOPIC --checkpoint FOLDER
    spark-submit examples/two_applications.py files FOLDER_OF_JSON --checkpoint FOLDER

The files have a column `ts` (ISO 8601), and little event time each: the gate holds them one by one.
Stop one of the two, and the other goes on.
"""

import argparse
import logging
from datetime import datetime, timezone

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

import lockgate_spark
from lockgate import watermark
from lockgate_spark import Alignment, Coordinator


def show(batch: DataFrame, batch_id: int) -> None:
    """Print the rows that came, and how far the group is; both applications do this."""
    first, last, rows = batch.select(F.min("ts"), F.max("ts"), F.count("*")).collect()[0]
    plan = lockgate_spark.alignment_of(batch)
    group = (
        "replayed"
        if plan is None or plan.group_watermark is None
        else f"the group is at {watermark.instant(plan.group_watermark)}"
    )
    print(f"batch {batch_id}: {rows} rows, {_time(first)} to {_time(last)}; {group}", flush=True)


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else moment.astimezone(timezone.utc).isoformat(timespec="seconds")


def aligned(spark: SparkSession, brokers: str, topic: str, group: Alignment) -> DataFrame:
    """Kafka: each partition is read as far as the group allows."""
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 500)
        .load()
    )
    return lockgate_spark.align(stream, group).withColumnRenamed("timestamp", "ts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kafka", "files"))
    parser.add_argument("where", nargs="+", help="BROKERS TOPIC, or a folder of JSON files")
    parser.add_argument(
        "--coordinator", default="http://127.0.0.1:8080", help="URL of the coordinator (default %(default)s)"
    )
    parser.add_argument("--checkpoint", required=True, help="checkpoint folder, of this application alone")
    chosen = parser.parse_args()

    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("lockgate").setLevel(logging.INFO)
    spark = SparkSession.builder.appName(f"{chosen.what} in a group").getOrCreate()
    group = Alignment(coordinator=Coordinator(chosen.coordinator, group="two-applications"))
    if chosen.what == "kafka":
        brokers, topic = chosen.where
        stream, work = aligned(spark, brokers, topic, group), show
    else:
        (folder,) = chosen.where
        stream = spark.readStream.schema("ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(folder)
        work = lockgate_spark.gate(show, event_time="ts", alignment=group)
    query = stream.writeStream.queryName(chosen.what).foreachBatch(work).option("checkpointLocation", chosen.checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
