"""The rate of a query whose steps wait, on more cores than this machine has, while one partition
lags alone: plain Spark and aligned, in turn (`make bench-waiting`).

Half of the records lie in one of eight partitions, which is 12 h behind the others. With `--bursts`
six partitions burst by turns, as in `make bench-skew`. Each record takes `--wait-ms`, as a call of
another service does, so that a run on `local[8]` needs few processors. Aligned, a partition that
lags is read alone, and its range is divided over the idle cores. With `minPartitions=1` it is not:
one task reads it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.skew.__main__ import load as load_shape
from benchmarks.skew.shapes import shapes
from benchmarks.tables import markdown, show, spread
from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark import session

COLUMNS = ("", "records/s", "to plain Spark")
KINDS = ("plain Spark", "aligned", "aligned, minPartitions=1")
AT_ONCE = 25  # records of one sleep, since a shorter one is inexact


def waits(wait_s: float) -> Callable[[Iterator[Any]], None]:
    """Return the step of a task."""

    def wait(rows: Iterator[Any]) -> None:
        due = 0
        for _ in rows:
            due += 1
            if due == AT_ONCE:
                time.sleep(due * wait_s)
                due = 0
        time.sleep(due * wait_s)

    return wait


def load(bootstrap: str, chosen: argparse.Namespace) -> tuple[str, int]:
    """Load a topic; return its name and how many records it has."""
    if chosen.bursts:
        shape = next(each for each in shapes(chosen.records) if each.name == "bursts by turns")
        load_shape(bootstrap, shape)
        return shape.topics[0].name, shape.records
    # The late ones hold a 25th of theirs: as much together as the first.
    topic = SkewedTopic(
        "bench-waiting", (7.0, *(25.0,) * 7), chosen.records, 12.5, late_start_hours=12.0, late_partitions=7
    )
    topics.load(bootstrap, topic)
    return topic.name, topic.records


def rate(spark: SparkSession, bootstrap: str, topic: tuple[str, int], kind: str, chosen: argparse.Namespace) -> float:
    """Return records per second, from the begin of a run's first batch to the end of its last."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", topic[0]).option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", chosen.budget)
    stream = (reader.option("minPartitions", 1) if "minPartitions" in kind else reader).load()
    step, times = waits(chosen.wait_ms / 1000), []

    def consume(batch: DataFrame, _: int) -> None:
        times.append(time.perf_counter())
        batch.select("offset").rdd.foreachPartition(step)
        times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as checkpoint:
        source = stream if kind == "plain Spark" else align(stream, Alignment(max_drift="9 minutes"))
        writer = source.writeStream.foreachBatch(consume).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
    return topic[1] / (times[-1] - times[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=40_000, help="records in the topic (default 40,000)")
    parser.add_argument("--budget", type=int, default=8_000, help="maxOffsetsPerTrigger (default 8,000)")
    parser.add_argument("--wait-ms", type=float, default=0.4, help="wait for each record (default 0.4)")
    parser.add_argument("--cores", type=int, default=8, help="of the session (default 8)")
    parser.add_argument("--bursts", action="store_true", help="six partitions burst by turns")
    parser.add_argument("--rounds", type=int, default=3, help="counted rounds, each kind once (default 3)")
    chosen = parser.parse_args()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with KafkaBroker() as broker:
        topic = load(broker.bootstrap, chosen)
        spark = session("bench-waiting", cores=chosen.cores)
        for turn in range(chosen.rounds + 1):
            for kind in KINDS if turn % 2 else reversed(KINDS):
                made = rate(spark, broker.bootstrap, topic, kind, chosen)
                print(f"{'warm-up' if turn == 0 else f'round {turn}':8} {kind:26} {made:10,.0f} records/s", flush=True)
                if turn:
                    found[kind].append(made)
        spark.stop()
    native = found["plain Spark"]
    rows = [
        (kind, spread(rates), spread([made / base for made, base in zip(rates, native, strict=True)], ".2f"))
        for kind, rates in found.items()
    ]
    show("waiting", markdown(COLUMNS, rows), found)


if __name__ == "__main__":
    main()
