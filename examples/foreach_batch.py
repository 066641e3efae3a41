r"""A foreachBatch loop that prints which splits were paused and resumed. Its executors report their
progress.

    lockgate serve &
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \
        examples/foreach_batch.py BROKERS TOPIC [COORDINATOR] --checkpoint FOLDER

With a second copy of it on another topic, each waits for the other.
"""

import argparse
import logging

from pyspark.sql import DataFrame, SparkSession

import lockgate_spark
from lockgate import watermark
from lockgate_spark import Alignment, Coordinator


def show(batch: DataFrame, batch_id: int) -> None:
    """Print the batch's rows, and the effect of alignment on it."""
    batch.persist()  # it is read twice: by the executors' reports, and by the work itself
    plan = lockgate_spark.alignment_of(batch)
    if plan is not None:
        print(f"batch {batch_id}: up to {watermark.instant(plan.target)}, limited by {plan.limited_by.value}")
        print(f"  paused:  {', '.join(plan.paused) or 'none'}")
        print(f"  resumed: {', '.join(plan.resumed) or 'none'}")
        for holder in plan.blocked_by:
            print(f"  blocked by {holder.source}, partition {holder.split}, at {watermark.instant(holder.watermark)}")
        if plan.group_watermark is not None:
            lockgate_spark.report_progress(batch)
    batch.groupBy("partition").count().orderBy("partition").show()
    batch.unpersist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="Kafka's bootstrap servers, host:port")
    parser.add_argument("topic")
    parser.add_argument(
        "coordinator", nargs="?", help="URL of a coordinator; without one the query is aligned by itself"
    )
    parser.add_argument("--group", default="example", help="the group to join (default: example)")
    parser.add_argument("--checkpoint", required=True, help="checkpoint folder")
    parser.add_argument("--budget", type=int, default=200_000, help="maxOffsetsPerTrigger (default 200,000)")
    chosen = parser.parse_args()

    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("lockgate").setLevel(logging.INFO)
    spark = SparkSession.builder.appName(f"aligned {chosen.topic}").getOrCreate()
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", chosen.brokers)
        .option("subscribe", chosen.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", chosen.budget)
        .load()
    )
    group = Coordinator(chosen.coordinator, group=chosen.group) if chosen.coordinator else None
    aligned = lockgate_spark.align(stream, Alignment(coordinator=group))
    query = (
        aligned.writeStream.queryName(chosen.topic)
        .foreachBatch(show)
        .option("checkpointLocation", chosen.checkpoint)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
