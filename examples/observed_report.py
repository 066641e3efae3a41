"""A sample of mode observe's report, over a real Kafka of its own.

    make observed            # into build/observed
    python -m examples.observed_report FOLDER

A day of orders in eight partitions, one of which starts six hours late, is counted by the hour.
Spark reads it as without lockgate, 20,000 offsets a batch, and the report shows the rows lost.
"""

import argparse
import logging
import tempfile
from pathlib import Path

import pyspark.sql.functions as F

import lockgate_spark
from lockgate_spark import Alignment
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark import session

ORDERS = SkewedTopic("orders", records=200_000, late_start_hours=6)
BUDGET = 20_000
DELAY = "10 minutes"


def observe(folder: Path, checkpoint: Path) -> None:
    """Run the query to its end, and leave the report in `folder`."""
    with KafkaBroker() as kafka:
        topics.load(kafka.bootstrap, ORDERS)
        spark = session("a sample of mode observe")
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap)
            .option("subscribe", ORDERS.name)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", BUDGET)
            .load()
        )
        orders = lockgate_spark.align(stream, Alignment(mode="observe", report=str(folder)))
        counts = orders.withWatermark("timestamp", DELAY).groupBy(F.window("timestamp", "1 hour")).count()
        writer = counts.writeStream.format("noop").outputMode("append").queryName("orders by the hour")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        spark.stop()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Makes a sample of the report that mode observe leaves.")
    parser.add_argument("folder", type=Path, help="where lockgate-observed.html and .json go")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with tempfile.TemporaryDirectory() as scratch:
        observe(arguments.folder, Path(scratch) / "checkpoint")


if __name__ == "__main__":
    main()
