"""Checkpoints as Spark's versions write them: offsets by place or by id, sources by number or by
name.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate_http.calls.client import CoordinatorClient
from lockgate_spark import Alignment, BatchSlice, Coordinator, align, gate, slice_of
from lockgate_spark.gates.foreach_batch import Work
from lockgate_spark.jvm.watermarks import source_index
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.queries import kafka_stream
from support.rows import Row, Rows

T0 = 1_767_225_600_000
FORMAT = "spark.sql.streaming.offsetLog.formatVersion"
EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose formats are the defaults again afterwards."""
    yield spark
    for key in (FORMAT, EVOLUTION):
        spark.conf.unset(key)


def load(kafka: KafkaBroker, topic: str, records: int, first: int = 0) -> list[Row]:
    if not first:
        topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n * 1000, None, b"x") for n in range(first, first + records)])
    return [Row(topic, 0, n) for n in range(first, first + records)]


class Exact:
    """The runs of one query over one checkpoint, and the rows that they have read."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self.rows: Counter[Row] = Counter()

    def run(self, stream: DataFrame, aligned: bool) -> None:
        rows = Rows(stream).start(self._checkpoint).finish()
        assert len(rows.batches) > 1, "the run goes on where its own batches end, too"
        assert all((plan is not None) == aligned for plan in rows.plans)
        self.rows.update(rows.all)

    def run_through(self, stream: DataFrame, gated: Callable[[Work], Work]) -> None:
        """A run whose foreachBatch function is behind a gate."""
        rows = Rows(stream)
        rows.start(self._checkpoint, handler=gated(rows.take)).finish()
        self.rows.update(rows.all)

    def run_live(self, stream: DataFrame, records: int) -> None:
        """A run that does not end by itself; it is stopped once it has read so many records."""
        rows = Rows(stream).start(self._checkpoint, available_now=False)
        rows.wait_until(lambda so_far: len(so_far.all) >= records)
        rows.stop()
        self.rows.update(rows.all)

    def fail_and_go_on(self, stream: DataFrame) -> None:
        """A run of slices whose second batch fails, and one that repeats that batch."""
        cut: list[list[BatchSlice | None]] = [[], []]
        first = Rows(stream, lambda batch, n: cut[0].append(slice_of(batch)) or fail_second(cut[0]))
        with pytest.raises(StreamingQueryException, match="ZeroDivisionError"):
            first.start(self._checkpoint).finish()
        second = Rows(stream, lambda batch, n: cut[1].append(slice_of(batch))).start(self._checkpoint).finish()
        assert (second.batches[0], cut[1][0]) == (first.batches[1], cut[0][1])
        assert None not in cut[0] + cut[1]
        self.rows.update([*first.batches[0], *second.all])


def fail_second(batches: Sequence[object]) -> None:
    """Fails in a query's second batch."""
    if len(batches) == 2:
        raise ZeroDivisionError


Turn = Callable[[Exact, DataFrame, Coordinator, Path], None]
# Without the promise no window is closed: the producer has just been late by months.
SLICED = Alignment(slice="5 seconds", late_rows="count", event_time="timestamp", idle_timeout=0)
TURNS: dict[str, Turn] = {
    "native": lambda exact, stream, *_: exact.run(stream, aligned=False),
    "aligned": lambda exact, stream, *_: exact.run(align(stream, Alignment(late_rows="count")), aligned=True),
    "slices on an old checkpoint": lambda exact, stream, *_: exact.run(align(stream, SLICED), aligned=True),
    "slices again, over a failure": lambda exact, stream, *_: exact.fail_and_go_on(align(stream, SLICED)),
    "native again": lambda exact, stream, *_: exact.run(stream, aligned=False),
    "in a group": lambda exact, stream, group, _: exact.run(
        align(stream, replace(SLICED, coordinator=group)), aligned=True
    ),
    "behind a gate": lambda exact, stream, group, _: exact.run_through(
        stream, lambda fn: gate(fn, "timestamp", Alignment(coordinator=replace(group, source="gated")))
    ),
    "observed": lambda exact, stream, _, folder: exact.run(
        align(stream, Alignment(mode="observe", report=str(folder))), aligned=True
    ),
    "live": lambda exact, stream, *_: exact.run_live(align(stream), RECORDS),
    "live, with the lags it kept": lambda exact, stream, *_: exact.run_live(align(stream), RECORDS),
}
"""Runs of one query, each over the checkpoint of the one before it."""

RECORDS = 30  # new ones, each turn


SHORT = ("native", "aligned", "slices again, over a failure", "native again")


@pytest.mark.parametrize(
    ("version", "turns"),
    [
        ("2", SHORT),
        pytest.param("1", tuple(TURNS), marks=pytest.mark.long),
        pytest.param("2", tuple(TURNS), marks=pytest.mark.long),
    ],
    ids=["2-short", "1", "2"],
)
def test_every_feature_restarts_on_a_checkpoint_of_each_format(
    conf: SparkSession, kafka: KafkaBroker, tmp_path: Path, version: str, turns: Sequence[str]
) -> None:
    conf.conf.set(FORMAT, version)
    exact, wanted = Exact(tmp_path / "checkpoint"), Counter[Row]()
    with CoordinatorProcess() as coordinator:
        group = Coordinator(coordinator.url, group="formats", source="shop", park="1 hour")
        for number, turn in enumerate(turns):
            a, b = (f"format-{version}-{len(turns)}{which}" for which in "ab")
            wanted.update([*2 * load(kafka, a, 10, 10 * number), *load(kafka, b, 10, 10 * number)])
            twice, once = (kafka_stream(conf, kafka.bootstrap, name, maxOffsetsPerTrigger=3) for name in (a, b))
            # in the log the one that is used twice has two places
            TURNS[turn](exact, twice.union(twice).union(once), group, tmp_path / "reports")
            assert exact.rows == wanted, turn


def named(spark: SparkSession, kafka: KafkaBroker, name: str, topic: str) -> DataFrame:
    reader = spark.readStream.name(name).format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    return (
        reader.option("startingOffsets", "earliest").option("subscribe", topic).option("maxOffsetsPerTrigger", 3).load()
    )


@pytest.fixture
def names(conf: SparkSession) -> SparkSession:
    """The session, in which sources have names."""
    if not hasattr(conf.readStream, "name"):
        pytest.skip("sources have names from Spark 4.2 on")
    conf.conf.set(EVOLUTION, "true")
    conf.conf.set(FORMAT, "2")  # Spark's own format 1 takes them by their places
    return conf


@pytest.mark.long
def test_sources_with_names_come_and_go_between_runs_and_their_readers_with_them(
    names: SparkSession, kafka: KafkaBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    sources = ("orders", "payments", "refunds")
    exact, rows = Exact(tmp_path), [row for name in sources[:2] for row in load(kafka, f"named-{name}", 10)]
    with CoordinatorProcess() as coordinator:
        group = Coordinator(coordinator.url, group="checkout", source="shop", park="1 hour")
        runs = [
            ("aligned", "orders payments"),
            ("aligned", "refunds payments"),
            ("native", "payments refunds"),
            ("aligned", "refunds payments"),
        ]
        for turn, (kind, of_run) in enumerate(runs):
            for name in of_run.split() if turn else ():
                rows += load(
                    kafka,
                    f"named-{name}",
                    10,
                    0 if turn == 1 and name == "refunds" else turn * 10 - 10 * (name == "refunds"),
                )
            first, second = (named(names, kafka, name, f"named-{name}") for name in of_run.split())
            stream = first.union(second)
            exact.run(align(stream, Alignment(coordinator=group)) if kind == "aligned" else stream, kind == "aligned")
        with CoordinatorClient(group) as client:
            readers = client.registered("shop").keys()
    assert exact.rows == Counter(rows)
    assert readers == {source_index(f"sources/{name}") for name in ("payments", "refunds")}
    named_reader = f'source "payments" is reader shop/{source_index("sources/payments")}'
    assert any(named_reader in message for message in caplog.messages)


def test_two_names_with_one_number_are_refused(names: SparkSession, kafka: KafkaBroker, tmp_path: Path) -> None:
    load(kafka, "one-number", 1)
    one, other = (named(names, kafka, name, "one-number") for name in ("plumless", "buckeroo"))
    with pytest.raises(
        StreamingQueryException, match=r'readStream.name\("buckeroo"\): another source of the query has the same number'
    ):
        Rows(align(one.union(other))).start(tmp_path).finish()
