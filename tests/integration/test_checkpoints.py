"""A checkpoint goes from native to aligned and back, and survives kill -9. A warning names the rows
that it lost before.
"""

import logging
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.drivers import Driver, Order
from support.exact_sink import Written, all_rows
from support.queries import WindowedCount, kafka_stream
from support.rows import Row, Rows


@pytest.mark.parametrize(
    "moments",
    [("wrote 3",), pytest.param(("begins 2", "wrote 3"), marks=pytest.mark.long)],
    ids=["once", "twice"],
)
def test_a_killed_driver_loses_and_doubles_no_row(
    kafka: KafkaBroker, topic: str, tmp_path: Path, moments: Sequence[str]
) -> None:
    spec = SkewedTopic(topic, weights=(1, 2, 4), records=5_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    order = Order("killed", kafka.bootstrap, topic, budget=800, folder=str(tmp_path))
    for moment in moments:
        killed = Driver(order)
        killed.read_until(moment)
        killed.kill()
    Driver(order).finish()
    assert Written.to(Path(order.out)).rows == all_rows(spec.counts())


@pytest.mark.long
def test_a_checkpoint_goes_from_native_to_aligned_and_back(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, records=20_000))
    counted = []
    for turn in ("native", "aligned", "native"):
        stream = kafka_stream(
            spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=200
        )  # 100 batches: something is left for each turn
        query = WindowedCount(align(stream) if turn == "aligned" else stream, delay="10 days")
        query.start(tmp_path, available_now=False)
        query.wait_until(lambda q: len(q.alignments) >= 3)
        query.stop()
        assert bool(query.plans) == (turn == "aligned")
        counted.append(query)
    last = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic)), delay="10 days").start(tmp_path).finish()
    latest = {window: count for query in [*counted, last] for window, count in query.windows.items()}
    assert sum(latest.values()) == 20_000


@pytest.mark.long
def test_rows_that_a_native_checkpoint_has_lost_already_are_counted_in_the_log(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    hour = 3_600_000
    topics.produce(kafka.bootstrap, topic, [(0, 10 * hour, None, b"ahead")])
    WindowedCount(kafka_stream(spark, kafka.bootstrap, topic)).start(tmp_path).finish()
    topics.produce(
        kafka.bootstrap, topic, [(1, hour + n, None, b"behind") for n in range(7)] + [(1, 11 * hour, None, b"level")]
    )
    with caplog.at_level(logging.WARNING, "lockgate"):
        counted = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path).finish().counted
    warning = next(record.getMessage() for record in caplog.records if "new checkpoint" in record.getMessage())
    assert "7 unread offsets" in warning
    assert counted <= 2


@pytest.mark.long
def test_a_delay_shorter_than_the_drift_is_said_with_both_figures(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 3_600_000, None, b"x")])
    stream = kafka_stream(spark, kafka.bootstrap, topic)
    for delay, warned in (("10 minutes", False), ("5 minutes", True)):
        caplog.clear()
        WindowedCount(align(stream, Alignment(max_drift="10 minutes")), delay=delay).start(tmp_path / delay).finish()
        assert any("delay is 5 min, and max_drift is 10 min" in r.getMessage() for r in caplog.records) == warned


@pytest.mark.long
def test_a_partition_added_while_the_query_is_down_counts_from_its_first_record_on_however_old_it_is(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    minute, t0 = 60_000, 1_767_225_600_000
    times = [[t0 + n * minute for n in range(40)], [t0 - 20 * minute + n * 2 * minute for n in range(30)]]
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, at, None, b"x") for at in times[0][:10]])
    stream = align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=10))
    assert len(Rows(stream).start(tmp_path).finish().all) == 10
    topics.widen(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(0, at, None, b"x") for at in times[0][10:]])
    topics.produce(kafka.bootstrap, topic, [(1, at, None, b"x") for at in times[1]])
    rows = Rows(stream).start(tmp_path).finish()
    first = rows.plans[0]
    assert first is not None
    assert [(split.partition, split.position) for split in first.partitions] == [(f"{topic}-0", 10), (f"{topic}-1", 0)]
    assert {row.partition for row in rows.batches[0]} == {1}, (
        "10 records of the new one are older than what is left of the other"
    )
    assert sorted(rows.all) == [
        Row(topic, p, offset) for p, offsets in ((0, range(10, 40)), (1, range(30))) for offset in offsets
    ]
    read = [[times[row.partition][row.offset] for row in batch] for batch in rows.batches if batch]
    assert all(max(batch) < min(later) for batch, later in pairwise(read))
    assert all(len(batch) <= 10 for batch in read)
