"""Flink's watermark alignment beside plain Spark and lockgate, on one broker, in turn
(`make bench-flink`).

Each workload is a day of event time that lies in Kafka before it is read: by Spark's query on
`local[2]`, and by a job of Flink with a parallelism of 2. Both count rows in windows of an hour, or
are an inner join of two topics, with the same delay. Each round runs all systems once, beginning
with another one:

* plain Spark;
* plain Spark, if it loses rows, with a delay by which no row of those batches is late;
* lockgate;
* Flink without alignment, with it and its defaults, and with the best settings that were found.

Rows lost are counted against what was produced. *Apart* is how far the highest event time read of
one partition was above the lowest unread of another. A record is beyond the drift if that was more
than the drift for it once its batch, or in Flink 2 ms, were over. Rows in open windows were
read, and belong to a window that the watermark had not closed; in the join, rows that it must keep.
*The least* reads records in the order of event time. Rates leave out each run's first batch, or
2 ms, and a run of each on a tenth of the records comes first. Flink writes a checkpoint each
second, Spark one a batch, both to the local disk.

Writes build/bench-flink: a line of outcomes.jsonl for each run, flink.json, flink.md and, where
there is a Chromium, flink.png; live.jsonl with --live. It needs a JDK, for the job is Java. It
ends with an error where lockgate loses a row, or reads one beyond the drift.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.flink import flink_runs, live, spark_runs
from benchmarks.flink.account import BEST, DEFAULTS, LOCKGATE, LONGER, PLAIN, SYSTEMS, UNALIGNED, Outcome, outcome
from benchmarks.flink.table import chart, table
from benchmarks.flink.workloads import FIRST, SKEWED, STEADY, workload
from benchmarks.skew.__main__ import CONF, load
from benchmarks.skew.shapes import Shape
from benchmarks.skew.table import picture
from benchmarks.tables import show
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.spark import session

NAMES = (*STEADY, *SKEWED)
FLINK = {UNALIGNED: flink_runs.UNALIGNED, DEFAULTS: flink_runs.DEFAULTS, BEST: flink_runs.BEST}


class Systems:
    """All of them, on one broker."""

    def __init__(
        self, spark: SparkSession, flink: flink_runs.Flink, bootstrap: str, max_drift_ms: int, limit_s: int
    ) -> None:
        self._spark, self._flink, self._bootstrap = spark, flink, bootstrap
        self._max_drift_ms, self._limit_s = max_drift_ms, limit_s

    def measure(self, shape: Shape, rounds: int) -> list[Outcome]:
        """Load a shape, run all systems so many times, and delete its topics again."""
        load(self._bootstrap, shape)
        found = list[Outcome]()
        with progress_bar(shape.name, rounds * len(SYSTEMS)) as bar:
            for number in range(rounds):
                for each in self.round(shape, turned(SYSTEMS, number)):
                    found.append(each)
                    bar(len(found))
        topics.delete(self._bootstrap, *(topic.name for topic in shape.topics))
        return found

    def live(self) -> Iterator[live.Live]:
        """Run all of them behind live producers."""
        for case in live.CASES:
            yield from live.measure(self._spark, self._flink, self._bootstrap, case)

    def round(self, shape: Shape, order: Sequence[str]) -> Iterator[Outcome]:
        """Run some systems once. The longer delay is that of plain Spark, which comes before; there
        is none if that loses nothing.
        """
        delay_ms, max_drift_ms, lost = shape.delay_ms, self._max_drift_ms, False
        for system in order:
            if system in FLINK:
                trace, counted, _ = self._flink.run(shape, FLINK[system], max_drift_ms, self._limit_s)
                yield outcome(system, trace, counted, max_drift_ms)
                continue
            if system == LONGER and not lost:
                continue
            longer = delay_ms if system == LONGER else None
            trace, counted = spark_runs.run(
                self._spark, self._bootstrap, shape, max_drift_ms if system == LOCKGATE else None, longer
            )
            yield (found := outcome(system, trace, counted, max_drift_ms, longer))
            if system == PLAIN:
                delay_ms, lost = trace.delay_that_loses_nothing_ms, bool(found.lost)


def turned(systems: Sequence[str], number: int) -> list[str]:
    """Begin with another system each round; the longer delay stays behind plain Spark."""
    start = number % len(systems)
    order = [each for each in (*systems[start:], *systems[:start]) if each != LONGER]
    order.insert(order.index(PLAIN) + 1, LONGER)
    return order


def broken(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Return the claims that do not hold."""
    for each in outcomes:
        if each.system == LOCKGATE and (each.lost or each.beyond):
            yield f"{each.workload}, lockgate: {each.lost:,} rows lost, {each.beyond:,} records beyond the drift"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make bench-flink", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=2_000_000, help="of a workload, about (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=48, help="of a run of Spark, about (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument(
        "--workloads", nargs="+", choices=NAMES, default=FIRST, metavar="NAME", help=f"of {NAMES} (default: {FIRST})"
    )
    parser.add_argument("--max-drift", type=int, default=600, metavar="SECONDS", help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, default=120, help="most seconds of a run of Flink (default: %(default)s)")
    parser.add_argument("--live", action="store_true", help="instead: behind live producers, silent and late (live.py)")
    parser.add_argument("--out", type=Path, default=Path("build/bench-flink"), help="(default: %(default)s)")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaBroker(heap="1g") as broker,
        flink_runs.Flink.running(Path(folder), broker.bootstrap) as flink,
    ):
        spark = session("bench-flink", cores=2, conf=CONF)
        systems = Systems(spark, flink, broker.bootstrap, 1_000 * chosen.max_drift, chosen.limit)
        outcomes = list[Outcome]() if chosen.live else backlog(systems, chosen)
        if chosen.live:
            live_producers(systems, chosen.out)
        spark.stop()
    for claim in (claims := list(broken(outcomes))):
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if claims else 0


def backlog(systems: Systems, chosen: argparse.Namespace) -> list[Outcome]:
    """Measure the workloads, and print them."""
    systems.measure(workload("even", chosen.records // 10, 5), rounds=1)  # it warms both up
    outcomes = list[Outcome]()
    for name in chosen.workloads:
        outcomes += systems.measure(workload(name, chosen.records, chosen.batches), chosen.rounds)
        lines = (f"{json.dumps(asdict(each))}\n" for each in outcomes)
        (chosen.out / "outcomes.jsonl").write_text("".join(lines))
    show("flink", table(outcomes), [asdict(each) for each in outcomes], chosen.out)
    if not picture(chart(outcomes), chosen.out / "flink.png"):
        print("no Chromium on this machine: flink.png is left out")
    return outcomes


def live_producers(systems: Systems, out: Path) -> None:
    """Measure the cases of live producers, and print them."""
    print(f"| {' | '.join(live.COLUMNS)} |\n|{' --- |' * len(live.COLUMNS)}")
    with (out / "live.jsonl").open("w") as lines:
        for each in systems.live():
            print(json.dumps(asdict(each)), file=lines, flush=True)
            print(each, flush=True)


if __name__ == "__main__":
    sys.exit(main())
