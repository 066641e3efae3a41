"""Plain Spark and aligned, on shapes of skew on which plain Spark loses rows (`make bench-skew`).

Each shape is loaded into a real Kafka and read twice to its end, without and with alignment, by the
same query. The query counts rows in windows of an hour, or is an inner join, with the watermark
delay that the shape needs. Rows lost are counted against what was produced. Drift, at each batch
boundary: how far the highest event time read of one split is above the lowest one unread of
another. Look-ups: how often a plan asked Kafka for anything. Writes build/bench/skew.json, skew.md
and, where there is a Chromium, skew.png. The benchmark ends with an error where an aligned run
loses a row or drifts by a second more than its disorder. It also does where half of all plans ask
Kafka more than 8 times a topic.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.skew.queries import Outcome, Run
from benchmarks.skew.shapes import Shape, shapes
from benchmarks.skew.table import chart, duration, picture, table
from benchmarks.tables import show
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.spark import session

MAX_DRIFT_MS = 600_000
MOST_DRIFT_MS = 1_000
MOST_LOOK_UPS = 8  # a topic, the median of all plans
CONF = {"spark.sql.streaming.numRecentProgressUpdates": "10000", "spark.driver.memory": "3g"}


def load(bootstrap: str, shape: Shape) -> None:
    """Create and fill the shape's topics."""
    for topic in shape.topics:
        logs = [
            list(zip(times.tolist(), numbers.tolist(), strict=True))
            for times, numbers in zip(topic.logs, topic.numbers, strict=True)
        ]
        with progress_bar(f"loading {topic.name}", topic.records) as progress:
            topics.fill(bootstrap, topic.name, logs, progress)


def both(spark: SparkSession, bootstrap: str, shape: Shape) -> tuple[Outcome, Outcome]:
    """Run once in plain Spark and once aligned."""
    # Spark's maintenance of state may go on writing into a checkpoint for a moment.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        native, aligned = (
            Run(shape, drift).outcome(spark, bootstrap, Path(folder, str(drift))) for drift in (None, MAX_DRIFT_MS)
        )
    for way, outcome in (("plain Spark", native), ("aligned", aligned)):
        print(
            f"{shape.name}, {way}: {outcome.rows_lost:,} of {outcome.rows:,} rows lost, drift "
            f"{duration(outcome.drift_ms)},"
            f" {outcome.batches} batches in {outcome.seconds:.1f} s",
            flush=True,
        )
    return native, aligned


def broken(pairs: list[tuple[Outcome, Outcome]]) -> Iterator[str]:
    """Return the claims that do not hold."""
    for _, aligned in pairs:
        if aligned.rows_lost:
            yield f"{aligned.shape}: {aligned.rows_lost:,} rows lost"
        if aligned.drift_ms >= MOST_DRIFT_MS + aligned.disorder_ms:
            yield f"{aligned.shape}: partitions {duration(aligned.drift_ms)} apart"
    asked = [look_ups / aligned.topics for _, aligned in pairs for look_ups in aligned.look_ups]
    if asked and (median := statistics.median(asked)) > MOST_LOOK_UPS:
        yield f"{median:g} look-ups a topic in half of all plans"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-skew", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=300_000, help="records of a shape, about (default 300,000)")
    parser.add_argument("--shapes", nargs="+", metavar="NAME", help='some of them only, such as "late start"')
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench"), help="folder to write to (default build/bench)"
    )
    chosen = parser.parse_args()
    wanted = [shape for shape in shapes(chosen.records) if not chosen.shapes or shape.name in chosen.shapes]
    if not wanted:
        parser.error("--shapes: there are " + ", ".join(f'"{shape.name}"' for shape in shapes(100)))
    pairs = []
    with KafkaBroker() as broker:
        spark = session("bench-skew", cores=2, conf=CONF)
        for n, shape in enumerate(wanted, 1):
            print(f"{n} of {len(wanted)}: {shape.name}", flush=True)
            load(broker.bootstrap, shape)
            pairs.append(both(spark, broker.bootstrap, shape))
        spark.stop()
    write(pairs, chosen.out)
    for claim in (claims := list(broken(pairs))):
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if claims else 0


def write(pairs: list[tuple[Outcome, Outcome]], out: Path) -> None:
    """Print the table, and write it with the figures and a picture."""
    found = [{"native": asdict(native), "aligned": asdict(aligned)} for native, aligned in pairs]
    show("skew", table(pairs), found, out)
    if not picture(chart(pairs), out / "skew.png"):
        print("no Chromium on this machine: skew.png is left out")


if __name__ == "__main__":
    sys.exit(main())
