"""How long Spark waits for one plan, for 8, 1,000 and 10,000 partitions (`make bench-plan`).

For each number of partitions an aligned query reads a topic in about twenty batches. Spark's
progress has the time that it has spent in `latestOffset`. Prints median and spread, with the
requests to Kafka that the plans took.
"""

import argparse
import statistics
import tempfile
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession

from benchmarks.tables import markdown, show, spread
from lockgate_spark import Alignment, align, alignment_of
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import EVENT_TIME_SQL, SkewedTopic
from lockgate_testbed.spark import session

COLUMNS = ("partitions", "wait for a plan, ms", "requests to Kafka, median and most")
BATCHES = 20


SMALL = {"segment.index.bytes": "65536"}  # a stock broker reserves 20 MB a partition


@dataclass(frozen=True, slots=True)
class Planned:
    """One plan, and how long (ms) Spark has waited for it."""

    waited_ms: int
    look_ups: int


def plans(spark: SparkSession, bootstrap: str, topic: SkewedTopic, event_time: str | None) -> list[Planned]:
    """Each plan but the first; the first one also connects."""
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    stream = (
        reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", topic.records // BATCHES).load()
    )
    look_ups: list[int] = []

    def note(batch: DataFrame, _: int) -> None:
        batch.count()
        plan = alignment_of(batch)
        assert plan is not None
        look_ups.append(plan.look_ups)

    with tempfile.TemporaryDirectory() as checkpoint:
        writer = align(stream, Alignment(max_drift="10 minutes", event_time=event_time)).writeStream.foreachBatch(note)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        waited = [batch.durationMs["latestOffset"] for batch in query.recentProgress if batch.numInputRows]
    return [Planned(*each) for each in zip(waited, look_ups, strict=True)][1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--partitions",
        type=int,
        nargs="+",
        default=[8, 1_000, 10_000],
        help="partitions of each topic (default 8 1000 10000)",
    )
    parser.add_argument("--records", type=int, default=1_000_000, help="records in each topic (default 1,000,000)")
    parser.add_argument(
        "--payload", action="store_true", help="event time in the payload: records are read instead of times looked up"
    )
    chosen = parser.parse_args()
    found, rows = {}, []
    with KafkaBroker(heap="2g") as broker:
        spark = session("bench-plan", cores=2)
        for partitions in chosen.partitions:
            weights = tuple(float(2 ** (n % 6)) for n in range(partitions))
            topic = SkewedTopic(f"bench-plan-{partitions}", weights=weights, records=chosen.records)
            with progress_bar(f"loading {partitions} partitions", chosen.records) as progress:
                topics.load(broker.bootstrap, topic, progress, SMALL)
            found[partitions] = plans(spark, broker.bootstrap, topic, EVENT_TIME_SQL if chosen.payload else None)
            rows.append(row(partitions, found[partitions]))
            print(*rows[-1], sep="; ", flush=True)
        spark.stop()
    measured = {partitions: [asdict(plan) for plan in made] for partitions, made in found.items()}
    show("plan", markdown(COLUMNS, rows), measured)


def row(partitions: int, made: list[Planned]) -> tuple[str, str, str]:
    """Return the row of one number of partitions."""
    asked = [plan.look_ups for plan in made]
    waited = spread([plan.waited_ms for plan in made])
    return f"{partitions:,}", waited, f"{statistics.median(asked):g}, {max(asked)}"


if __name__ == "__main__":
    main()
