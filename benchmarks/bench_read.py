"""Records per second: Spark's Kafka source as it is, and aligned, on the same topic, in turn (`make bench-read`).

The topic's partitions have densities 1:1:2:2:4:8:16:32. Each run is a query of its own that reads the whole topic in batches of
`--budget` offsets, with a small aggregate in foreachBatch. Steady state: the first batch of a run is left out, and so is a pair of
runs before the counted ones. With `--payload` event time is taken out of the value, by the query and by the alignment; native does the
same parse. Prints each run, the medians and their ratio; writes build/bench/read.json.

With `--alone` half of the records lie in one partition that is 23 hours behind the seven others. Aligned, it is read alone until it is
level, in one task a batch; and once more with `minPartitions`, which splits it up.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import EVENT_TIME_SQL, SkewedTopic
from lockgate_testbed.spark import session

OUT = Path("build/bench/read.json")
TASKS = 8  # of a batch with minPartitions
DENSE, ALONE = ("native", "aligned"), ("native", "aligned", "aligned, minPartitions")


def rate(spark: SparkSession, bootstrap: str, topic: SkewedTopic, budget: int, kind: str, payload: bool) -> float:
    """Records per second of one run, from the end of its first batch to the end of its last."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", budget)
    stream = (reader.option("minPartitions", TASKS) if "minPartitions" in kind else reader).load()
    ends: list[tuple[float, int]] = []

    def consume(batch: DataFrame, _: int) -> None:
        rows = batch.selectExpr("count(1)", "sum(length(value))", "max(timestamp)").first()
        assert rows is not None
        ends.append((time.perf_counter(), rows[0]))

    with tempfile.TemporaryDirectory() as checkpoint:
        alignment = Alignment(max_drift="10 minutes", event_time=EVENT_TIME_SQL if payload else None)
        source = align(stream, alignment) if kind != "native" else stream
        source = source.selectExpr(f"timestamp_millis({EVENT_TIME_SQL}) AS timestamp", "value") if payload else source
        writer = source.writeStream.foreachBatch(consume).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
    assert sum(rows for _, rows in ends) == topic.records
    return sum(rows for _, rows in ends[1:]) / (ends[-1][0] - ends[0][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000_000, help="records in the topic (default 20,000,000)")
    parser.add_argument("--budget", type=int, default=2_000_000, help="maxOffsetsPerTrigger (default 2,000,000)")
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs of runs (default 5)")
    parser.add_argument("--alone", action="store_true", help="one partition lags, and is read alone")
    parser.add_argument("--payload", action="store_true", help="event time in the payload")
    chosen = parser.parse_args()
    topic = SkewedTopic("bench-read", records=chosen.records)
    if chosen.alone:
        weights = (7.0, *(24.0,) * 7)  # the late ones hold a 24th of theirs: as much together as the first
        topic = replace(topic, weights=weights, late_start_hours=23.0, late_partitions=7)
    kinds = ALONE if chosen.alone else DENSE
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    with KafkaBroker(heap="1g") as broker:
        with progress_bar("loading", chosen.records) as progress:
            topics.load(broker.bootstrap, topic, progress)
        spark = session("bench-read", cores=2)
        for pair in range(chosen.pairs + 1):
            # In turn, and each kind first in every second pair: what the machine does to one it does to the other.
            for kind in kinds if pair % 2 else reversed(kinds):
                per_second = rate(spark, broker.bootstrap, topic, chosen.budget, kind, chosen.payload)
                print(f"{'warm-up' if pair == 0 else f'pair {pair}':8} {kind:22} {per_second:12,.0f} records/s", flush=True)
                if pair:
                    found[kind].append(per_second)
        spark.stop()
    report(found, chosen)


def report(found: dict[str, list[float]], chosen: argparse.Namespace) -> None:
    medians = {kind: statistics.median(rates) for kind, rates in found.items()}
    for kind, rates in found.items():
        print(f"{kind:22} median {medians[kind]:12,.0f} records/s   {min(rates):,.0f} to {max(rates):,.0f}")
    ratios = {}
    for kind in list(found)[1:]:
        ratios[kind] = sorted(a / n for a, n in zip(found[kind], found["native"], strict=True))
        ratio = medians[kind] / medians["native"]
        print(f"{kind} to native: {ratio:.3f} of the medians; pair by pair {ratios[kind][0]:.3f} to {ratios[kind][-1]:.3f}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        json.dumps(
            {
                "command": f"make bench-read ARGS='{' '.join(sys.argv[1:])}'",
                "records_per_second": found,
                "ratios": ratios,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
