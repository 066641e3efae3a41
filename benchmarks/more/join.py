"""Rows in the state of a stream-stream join of two skewed topics, in plain Spark and aligned
(`make bench-join`).

Orders are joined with payments of the hours after them. An order has one payment at most, and the
payments get through a quarter of the orders' offsets a batch. There are four ways:

* in plain Spark;
* in plain Spark with a delay that loses nothing, found from the batches of the first run;
* aligned;
* the least possible. No query runs for it: at each batch boundary of the aligned run it counts the
  rows that a record which is still unread may yet be joined with.

Peaks are of numRowsTotal in Spark's own progress. The benchmark writes build/bench/join.json,
join.md and, where there is a Chromium, join.png. It ends with an error where a pair is lost, but
in plain Spark with the short delay. It also does where aligned keeps more than 1.15 of the least.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from benchmarks.skew.history import Ends, ends
from benchmarks.skew.shapes import Times, Topic
from benchmarks.skew.table import HEIGHT, WIDTH, duration, picture
from benchmarks.tables import markdown, show
from lockgate_spark import Alignment, align_all
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import HOUR_MS, T0_MS
from lockgate_testbed.spark import session

SPAN_MS = 24 * HOUR_MS
DELAY_MS = 60_000
MOST = 1.15  # aligned to the least possible
WEIGHTS = (1, 2, 4)
CONF = {"spark.sql.streaming.numRecentProgressUpdates": "10000", "spark.driver.memory": "3g"}
COLUMNS = ("", "watermark delay", "pairs lost", "rows in state, at most", "to the least")
COLOURS = {
    "plain Spark": "#d6403a",
    "plain Spark, longer delay": "#e8a33d",
    "aligned": "#3f8ae0",
    "least possible": "#59a14f",
}


@dataclass(frozen=True, slots=True)
class Join:
    """Orders and payments. An order at `t` is paid once at most, from then to `within_ms` later."""

    orders: Topic
    payments: Topic
    within_ms: int

    @property
    def topics(self) -> tuple[Topic, Topic]:
        """Left and right."""
        return self.orders, self.payments


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way of reading. `state`: rows in state at each batch boundary. `pairs_lost` of
    `pairs`.
    """

    way: str
    delay_ms: int
    pairs: int
    pairs_lost: int
    state: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The most rows at any boundary."""
        return max(self.state)


def join(records: int, batches: int, within_ms: int, seed: int = 1) -> Join:
    """Make a day of partitions of unequal density, of which the densest begins at noon.

    `records`: of both topics, about; `batches`: the most that reading them aligned takes. Both logs
    end at midnight: later payments are not there yet.
    """
    rng = np.random.default_rng(seed)
    logs = []
    for n, weight in enumerate(WEIGHTS):
        start = SPAN_MS // 2 if n == len(WEIGHTS) - 1 else 0
        logs.append(np.sort(T0_MS + rng.integers(start, SPAN_MS, records // 2 * weight // sum(WEIGHTS))))
    firsts = np.cumsum([0, *(len(log) for log in logs)])
    numbers = [np.arange(first, first + len(log)) for first, log in zip(firsts, logs, strict=False)]
    budget = max(1, sum(map(len, logs)) // batches)
    paid = [log + rng.integers(0, within_ms, len(log)) for log in logs]
    order = [(by := np.argsort(times, kind="stable"))[times[by] < T0_MS + SPAN_MS] for times in paid]
    payments = tuple(times[by] for times, by in zip(paid, order, strict=True))
    of = tuple(number[by] for number, by in zip(numbers, order, strict=True))
    return Join(
        Topic("orders", tuple(logs), tuple(numbers), 4 * budget), Topic("payments", payments, of, budget), within_ms
    )


def run(
    spark: SparkSession, bootstrap: str, of: Join, way: str, delay_ms: int, checkpoint: Path
) -> tuple[Outcome, list[Ends]]:
    """One run to the end of both topics, and where its batches ended."""
    streams = [_stream(spark, bootstrap, topic) for topic in of.topics]
    if way == "aligned":
        streams = align_all(streams, Alignment(max_drift=delay_ms))
    found: list[int] = []

    def count(batch: DataFrame, _: int) -> None:
        found.append(batch.count())

    writer = (
        _pairs(of, delay_ms, *streams).writeStream.foreachBatch(count).option("checkpointLocation", str(checkpoint))
    )
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    told = [json.loads(each.json) for each in query.recentProgress]
    state = tuple(sum(operator["numRowsTotal"] for operator in each["stateOperators"]) for each in told)
    pairs = of.payments.records
    return Outcome(way, delay_ms, pairs, pairs - sum(found), state), [ends(json.dumps(each)) for each in told]


def _stream(spark: SparkSession, bootstrap: str, topic: Topic) -> DataFrame:
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic.name)
    )
    return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", topic.budget).load()


def _pairs(of: Join, delay_ms: int, orders: DataFrame, payments: DataFrame) -> DataFrame:
    left = orders.selectExpr("key AS k", "timestamp AS t").withWatermark("t", f"{delay_ms} milliseconds")
    right = payments.selectExpr("key AS k2", "timestamp AS t2").withWatermark("t2", f"{delay_ms} milliseconds")
    return left.join(right, F.expr(f"k = k2 AND t2 BETWEEN t AND t + INTERVAL {of.within_ms // 1000} SECONDS"))


def least(of: Join, boundaries: Sequence[Ends]) -> tuple[int, ...]:
    """Rows that must be in state at each boundary. An order must be while a payment of its hours
    may be unread, a payment while an order before it may be. From the logs alone.
    """
    return tuple(_least_at(of, boundary) for boundary in boundaries)


def _least_at(of: Join, boundary: Ends) -> int:
    order, payment = (_first_unread(topic, boundary) for topic in of.topics)
    kept = 0
    if payment is not None:
        kept += sum(int((log >= payment - of.within_ms).sum()) for log in _read(of.orders, boundary))
    if order is not None:
        kept += sum(int((log >= order).sum()) for log in _read(of.payments, boundary))
    return kept


def _read(topic: Topic, boundary: Ends) -> Iterator[Times]:
    for partition, log in enumerate(topic.logs):
        yield log[: boundary.get((topic.name, partition), 0)]


def _first_unread(topic: Topic, boundary: Ends) -> int | None:
    """Return the lowest event time of any unread record, ms."""
    unread = (log[boundary.get((topic.name, partition), 0) :] for partition, log in enumerate(topic.logs))
    return min((int(log.min()) for log in unread if len(log)), default=None)


def delay_that_loses_nothing(of: Join, boundaries: Sequence[Ends]) -> int:
    """By how much (ms) the lower of both topics' highest event times is above any record that is
    read after it, at most.
    """
    delay = 0
    for boundary in boundaries:
        read = [max((int(log.max()) for log in _read(topic, boundary) if len(log)), default=0) for topic in of.topics]
        unread = [first for topic in of.topics if (first := _first_unread(topic, boundary)) is not None]
        delay = max(delay, min(read) - min(unread) + 1 if unread else 0)
    return delay


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the figures as a Markdown table."""
    fewest, rows = outcomes[-1].peak, []
    for each in outcomes:
        delay = "–" if each.way == "least possible" else duration(each.delay_ms)
        lost = f"{each.pairs_lost:,} of {each.pairs:,}"
        rows.append((each.way, delay, lost, f"{each.peak:,}", f"{each.peak / fewest:.2f}"))
    return markdown(COLUMNS, rows)


def chart(outcomes: Sequence[Outcome]) -> go.Figure:
    """Rows in state over the run, by the share of its batches."""
    figure = go.Figure()
    for each in outcomes:
        x = [100 * (n + 1) / len(each.state) for n in range(len(each.state))]
        dash = "dot" if each.way == "least possible" else "solid"
        figure.add_scatter(
            x=x,
            y=each.state,
            name=each.way,
            mode="lines",
            line={"color": COLOURS[each.way], "width": 2.5, "dash": dash},
        )
    figure.update_xaxes(title_text="batches, % of the run's", rangemode="tozero")
    figure.update_yaxes(title_text="rows in state", rangemode="tozero")
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    return figure.update_layout(template="plotly_white", width=WIDTH, height=HEIGHT, legend=legend, font={"size": 14})


def measure(spark: SparkSession, bootstrap: str, of: Join) -> list[Outcome]:
    """All ways, each said as it ends; the last one is the least possible."""
    outcomes: list[Outcome] = []

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        print(f"{outcome.way}: {outcome.peak:,} rows in state at most, {outcome.pairs_lost:,} pairs lost", flush=True)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        native, boundaries = run(spark, bootstrap, of, "plain Spark", DELAY_MS, Path(folder, "plain"))
        note(native)
        enough = delay_that_loses_nothing(of, boundaries)
        note(run(spark, bootstrap, of, "plain Spark, longer delay", enough, Path(folder, "longer"))[0])
        aligned, boundaries = run(spark, bootstrap, of, "aligned", DELAY_MS, Path(folder, "aligned"))
        note(aligned)
    note(Outcome("least possible", 0, aligned.pairs, 0, least(of, boundaries)))
    return outcomes


def broken(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Return the claims that do not hold."""
    by_way = {each.way: each for each in outcomes}
    for way in ("plain Spark, longer delay", "aligned"):
        if by_way[way].pairs_lost:
            yield f"{way}: {by_way[way].pairs_lost:,} pairs lost"
    if by_way["aligned"].peak > MOST * by_way["least possible"].peak:
        yield (
            f"aligned: {by_way['aligned'].peak:,} rows in state, more than {MOST} of {by_way['least possible'].peak:,}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-join", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=200_000, help="records of both topics (default 200,000)")
    parser.add_argument("--batches", type=int, default=96, help="batches that an aligned read takes (default 96)")
    parser.add_argument("--within-hours", type=float, default=6, help="until when an order is paid (default 6)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench"), help="folder to write to (default build/bench)"
    )
    chosen = parser.parse_args()
    of = join(chosen.records, chosen.batches, int(chosen.within_hours * HOUR_MS))
    with KafkaBroker() as broker:
        spark = session("bench-join", cores=2, conf=CONF)
        load(broker.bootstrap, of)
        outcomes = measure(spark, broker.bootstrap, of)
        spark.stop()
    write(outcomes, chosen.out)
    for claim in (claims := list(broken(outcomes))):
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if claims else 0


def load(bootstrap: str, of: Join) -> None:
    """Create and fill both topics."""
    for topic in of.topics:
        logs: list[list[Any]] = [
            list(zip(*(part.tolist() for part in pair), strict=True))
            for pair in zip(topic.logs, topic.numbers, strict=True)
        ]
        with progress_bar(f"loading {topic.name}", topic.records) as progress:
            topics.fill(bootstrap, topic.name, logs, progress)


def write(outcomes: Sequence[Outcome], out: Path) -> None:
    """Print the table, and write it with the figures and a picture."""
    show("join", table(outcomes), [asdict(each) for each in outcomes], out)
    if not picture(chart(outcomes), out / "join.png"):
        print("no Chromium on this machine: join.png is left out")


if __name__ == "__main__":
    sys.exit(main())
