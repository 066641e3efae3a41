"""Records per second: Spark's Kafka source as it is, and aligned, on the same topic, in turn
(`make bench-read`).

The topic's partitions have densities 1:1:2:2:4:8:16:32. Each run is a query of its own that reads
the whole topic in batches of `--budget` offsets. It has a watermark, and a small aggregate in
foreachBatch. Steady state: the first batch of a run is left out, and so is a round of runs before
the counted ones. The kinds: `plain Spark`; `aligned`; `in a group`, of a coordinator that runs
beside it; `all on`: in a group, late rows counted, out of order; `all on, keep`: the same with late
rows kept instead of counted. With `--payload` event time is
taken out of the value, by the query and by the alignment; plain Spark does the same parse. Prints
each run, by the clock and by the processor time of driver and JVM, and a table of the medians and
of the ratios pair by pair.

With `--alone` half of the records lie in one partition that is 23 hours behind the seven others.
Aligned, it is read alone until it is level, in a task for each core; and once more with
`minPartitions`, which makes eight tasks.

With `--connect` the kinds are `plain Spark` and `connect`, which the server's extension aligns.
Both run in one Spark Connect server (`read_over_connect.py`).
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks import read_over_connect
from benchmarks.tables import markdown, show, spread
from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import processor_seconds
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import EVENT_TIME_SQL, SkewedTopic
from lockgate_testbed.spark import session

TASKS = 8  # of a batch with minPartitions
DENSE = ("plain Spark", "aligned", "in a group", "all on", "all on, keep")
ALONE = ("plain Spark", "aligned", "aligned, minPartitions")
COLUMNS = ("", "records/s", "to plain Spark by the clock", "by processor time")


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed of one run: records per second by the clock, and per second of processor time."""

    by_clock: float
    by_processor: float


def alignment_for(kind: str, payload: bool, coordinator: str) -> Alignment:
    """Return the alignment of a kind of run; `coordinator`: its URL."""
    alignment = Alignment(max_drift="9 minutes", event_time=EVENT_TIME_SQL if payload else None)
    if kind == "in a group" or kind.startswith("all on"):
        alignment = replace(alignment, coordinator=Coordinator(coordinator, group=f"bench-read-{time.time_ns()}"))
    if not kind.startswith("all on"):
        return alignment
    return replace(alignment, late_rows="keep" if "keep" in kind else "count", max_out_of_orderness="1 second")


def rate(spark: SparkSession, bootstrap: str, topic: SkewedTopic, budget: int, kind: str, alignment: Alignment) -> Rate:
    """From the end of a run's first batch to the end of its last."""
    gateway: Any = spark.sparkContext._gateway
    pids = os.getpid(), gateway.proc.pid
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", budget)
    stream = (reader.option("minPartitions", TASKS) if "minPartitions" in kind else reader).load()
    ends: list[tuple[float, float, int]] = []

    def consume(batch: DataFrame, _: int) -> None:
        rows = batch.selectExpr("count(1)", "sum(length(value))", "max(timestamp)").first()
        assert rows is not None
        ends.append((time.perf_counter(), sum(map(processor_seconds, pids)), rows[0]))

    with tempfile.TemporaryDirectory() as checkpoint:
        source = align(stream, alignment) if kind != "plain Spark" else stream
        if alignment.event_time is not None:
            source = source.selectExpr(f"timestamp_millis({alignment.event_time}) AS timestamp", "value")
        writer = (
            source.withWatermark("timestamp", "10 minutes")
            .writeStream.foreachBatch(consume)
            .option("checkpointLocation", checkpoint)
        )
        writer.trigger(availableNow=True).start().awaitTermination()
    assert sum(rows for _, _, rows in ends) == topic.records
    steady = sum(rows for _, _, rows in ends[1:])
    return Rate(steady / (ends[-1][0] - ends[0][0]), steady / (ends[-1][1] - ends[0][1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000_000, help="records in the topic (default 20,000,000)")
    parser.add_argument("--budget", type=int, default=2_000_000, help="maxOffsetsPerTrigger (default 2,000,000)")
    parser.add_argument("--pairs", type=int, default=5, help="counted rounds of runs, each kind once (default 5)")
    parser.add_argument("--alone", action="store_true", help="one partition lags, and is read alone")
    parser.add_argument("--payload", action="store_true", help="event time in the payload")
    parser.add_argument("--connect", action="store_true", help="over a Spark Connect server, plain Spark and aligned")
    chosen = parser.parse_args()
    topic = SkewedTopic("bench-read", records=chosen.records)
    if chosen.alone:
        # the late ones hold a 24th of theirs: as much together as the first
        weights = (7.0, *(24.0,) * 7)
        topic = replace(topic, weights=weights, late_start_hours=23.0, late_partitions=7)
    kinds = read_over_connect.KINDS if chosen.connect else ALONE if chosen.alone else DENSE
    found: dict[str, list[Rate]] = {kind: [] for kind in kinds}
    with KafkaBroker(heap="1g") as broker, CoordinatorProcess() as coordinator:
        with progress_bar("loading", chosen.records) as progress:
            topics.load(broker.bootstrap, topic, progress)
        measured = over_connect if chosen.connect else in_this_session
        with measured(broker.bootstrap, coordinator.url, topic, chosen) as measure:
            for pair in range(chosen.pairs + 1):
                # In turn, and each kind first in every second pair: what the machine does to one it
                # does to the other.
                for kind in kinds if pair % 2 else reversed(kinds):
                    made = measure(kind)
                    turn = "warm-up" if pair == 0 else f"pair {pair}"
                    speed = f"{made.by_clock:12,.0f} records/s {made.by_processor:12,.0f} a processor second"
                    print(f"{turn:8} {kind:22} {speed}", flush=True)
                    if pair:
                        found[kind].append(made)
    show("read", table(found), {kind: [asdict(made) for made in runs] for kind, runs in found.items()})


@contextmanager
def in_this_session(
    bootstrap: str, coordinator: str, topic: SkewedTopic, chosen: argparse.Namespace
) -> Iterator[Callable[[str], Rate]]:
    """Measures a kind of run in a classic session of this process."""
    spark = session("bench-read", cores=2)
    yield lambda kind: rate(
        spark, bootstrap, topic, chosen.budget, kind, alignment_for(kind, chosen.payload, coordinator)
    )
    spark.stop()


@contextmanager
def over_connect(
    bootstrap: str, _: str, topic: SkewedTopic, chosen: argparse.Namespace
) -> Iterator[Callable[[str], Rate]]:
    """Measures a kind of run in a Spark Connect server."""
    with read_over_connect.server() as (server, spark):
        pid = server.pid
        assert pid is not None
        rest = (bootstrap, topic, chosen.budget)
        yield lambda kind: Rate(*read_over_connect.rate(spark, pid, *rest, kind, chosen.payload))


def table(found: dict[str, list[Rate]]) -> str:
    """Return the rates of each kind, and the ratios to plain Spark pair by pair."""
    native, rows = found["plain Spark"], []
    for kind, runs in found.items():
        clock = [made.by_clock / base.by_clock for made, base in zip(runs, native, strict=True)]
        processor = [made.by_processor / base.by_processor for made, base in zip(runs, native, strict=True)]
        rates = spread([made.by_clock for made in runs])
        rows.append((kind, rates, spread(clock, ".2f"), spread(processor, ".2f")))
    return markdown(COLUMNS, rows)


if __name__ == "__main__":
    main()
