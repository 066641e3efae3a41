r"""A backfill into Parquet, one partition an hour, without state: batches are cut at hours, and
each is written as a whole.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \
        examples/hourly_partitions.py BROKERS TOPIC OUT --checkpoint FOLDER --zone Asia/Kolkata

OUT/hours/hour=2026-01-01T00 holds an hour, by the clocks of the zone, that is complete: writing it
once more changes nothing. OUT/parts/batch=17 has rows of hours that may be incomplete: parts of an
hour larger than the budget, an hour whose beginning was deleted, and stragglers. `read_back` puts
the two together.

An hour is written when it is over: a minute after its end, or later where a producer is late. The
hour that is still open is left to the next run, and the example says so.
"""

import argparse
import logging

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import date_format, lit

import lockgate_spark
from lockgate_spark import Alignment


class HourlyPartitions:
    """The sink: safe to be called twice for one batch, as Spark does after a failure."""

    def __init__(self, out: str) -> None:
        self.hours, self.parts = f"{out}/hours", f"{out}/parts"
        self.batches = 0

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write a batch, as the foreachBatch function."""
        print(f"begins {batch_id}", flush=True)
        found = lockgate_spark.slice_of(batch)
        rows = batch.withColumn("hour", date_format("timestamp", "yyyy-MM-dd'T'HH"))
        if found is not None and found.complete:
            self._overwrite(found.rows(rows), self.hours, "hour")
            rows = found.stragglers(rows)  # of hours that were written before: never over them
        if not rows.isEmpty():
            self._overwrite(rows.withColumn("batch", lit(batch_id)), self.parts, "batch")
        self.batches += 1
        print(f"wrote {batch_id}", flush=True)

    def read_back(self, spark: SparkSession) -> DataFrame:
        """All rows, each once."""
        hours = spark.read.parquet(self.hours)
        try:
            parts = spark.read.parquet(self.parts).drop("batch")
        except Exception as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return hours
        return hours.unionByName(parts)

    @staticmethod
    def _overwrite(rows: DataFrame, path: str, partition: str) -> None:
        rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(partition).parquet(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="Kafka's bootstrap servers, host:port")
    parser.add_argument("topic")
    parser.add_argument("out", help="folder for the Parquet files")
    parser.add_argument("--checkpoint", required=True, help="checkpoint folder")
    parser.add_argument("--zone", help="time zone by whose clocks hours begin and are named (default: the session's)")
    parser.add_argument("--budget", type=int, default=2_000_000, help="maxOffsetsPerTrigger (default 2,000,000)")
    chosen = parser.parse_args()

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    spark = SparkSession.builder.appName(f"hours of {chosen.topic}").getOrCreate()
    if chosen.zone is not None:
        spark.conf.set("spark.sql.session.timeZone", chosen.zone)
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", chosen.brokers)
        .option("subscribe", chosen.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", chosen.budget)
        .load()
    )
    aligned = lockgate_spark.align(stream, Alignment(slice="1 hour"))
    sink = HourlyPartitions(chosen.out)
    query = (
        aligned.writeStream.foreachBatch(sink.write)
        .option("checkpointLocation", chosen.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    said = lockgate_spark.status(query).sentence
    print(said if sink.batches else f"nothing was written: the topic has no whole hour that is new. {said}", flush=True)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
