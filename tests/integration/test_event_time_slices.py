"""Batches cut at hours on a real broker: plain batch SQL gives whole windows, stragglers come
apart, and a kill changes nothing.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

import lockgate_spark
from lockgate_spark import Alignment, BatchAlignment, BatchSlice, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS, SkewedTopic
from support.queries import PATIENCE_S, kafka_stream

EXAMPLE = Path(__file__).parents[2] / "examples" / "hourly_partitions.py"
HOUR = Alignment(slice="1 hour")
# The example takes the session that it finds: here one with the Kafka connector on its classpath,
# as --packages would put it there.
LAUNCH = """
import runpy, sys
from lockgate_testbed.spark import session
session("example")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Sliced:
    """Counts each batch's rows by hour, and the rows apart, beside its slice."""

    def __init__(self) -> None:
        self.slices: list[BatchSlice] = []
        self.plans: list[BatchAlignment] = []
        self.hours: list[dict[int, int]] = []
        self.stragglers: list[int] = []

    def take(self, batch: DataFrame, _: int) -> None:
        plan, found = lockgate_spark.alignment_of(batch), lockgate_spark.slice_of(batch)
        assert plan is not None
        assert found is not None
        self.plans.append(plan)
        hour = F.floor(F.unix_millis("timestamp") / HOUR_MS).alias("hour")
        self.slices.append(found)
        self.hours.append({row["hour"]: row["count"] for row in found.rows(batch).groupBy(hour).count().collect()})
        self.stragglers.append(found.stragglers(batch).count())

    def run(self, df: DataFrame, checkpoint: Path) -> "Sliced":
        query = (
            df.writeStream.foreachBatch(self.take)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S)
        return self


def test_each_hour_of_a_backfill_is_whole_in_one_batch(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, weights=(1, 2, 4, 16), records=6_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    found = Sliced().run(align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_200), HOUR), tmp_path)
    assert len(found.slices) > 4
    assert all(made.complete for made in found.slices)
    assert [plan.slice for plan in found.plans] == found.slices
    assert [made.start for made in found.slices] == [T0_MS, *(made.end for made in found.slices[:-1])]
    assert all(
        plan.slice and plan.slice.end % HOUR_MS == 0 and plan.target == plan.slice.end - 1 for plan in found.plans
    )
    assert sum(found.stragglers) == 0
    hours = [hour for batch in found.hours for hour in batch]
    assert len(hours) == len(set(hours)) == 24
    assert sum(sum(batch.values()) for batch in found.hours) == 6_000


@pytest.mark.long
def test_an_hour_larger_than_the_budget_comes_in_parts_that_say_so(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, records=3_000, weights=(1, 2), span_hours=2))
    found = Sliced().run(align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000), HOUR), tmp_path)
    assert not any(made.complete for made in found.slices)
    assert [before.end for before in found.slices[:-1]] == [made.start for made in found.slices[1:]]
    assert sum(sum(batch.values()) for batch in found.hours) == 3_000


@pytest.mark.long
@pytest.mark.parametrize("disorder", [0, "1 minute"])
def test_an_hour_with_a_straggler_behind_its_cut_is_not_complete_and_the_straggler_comes_apart(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, disorder: str | int
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    times = [10 * HOUR_MS + n for n in range(50)] + [
        11 * HOUR_MS,
        11 * HOUR_MS - 50,
        *(11 * HOUR_MS + n for n in range(1, 40)),
    ]
    topics.produce(kafka.bootstrap, topic, [(0, event_time, None, b"x") for event_time in times])
    alignment = Alignment(slice="1 hour", max_out_of_orderness=disorder)
    found = Sliced().run(
        align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=60), alignment), tmp_path
    )
    assert [made.complete for made in found.slices] == [False, True]
    assert found.hours == [{10: 50}, {11: 40}]
    assert found.stragglers == [0, 1]


def test_a_window_that_is_still_open_is_left_to_the_next_run(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    now = int(time.time() * 1000)
    window = (
        now // 490_000
    )  # about an hour; and one began within the last 490 s, so that it does not end while this test runs
    open_since = now - now % window
    times = [open_since - 2 * window, open_since - window, open_since, now]
    topics.produce(kafka.bootstrap, topic, [(0, event_time, None, b"x") for event_time in times])
    alignment = Alignment(slice=window, slice_zone="epoch", idle_timeout=0)
    found = Sliced().run(align(kafka_stream(spark, kafka.bootstrap, topic), alignment), tmp_path)
    assert [made.end for made in found.slices] == [open_since]
    assert found.slices[0].complete
    assert sum(sum(batch.values()) for batch in found.hours) == 2


class Backfill:
    """The example in a process group of its own: Python and its JVM die together."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-c", LAUNCH, str(EXAMPLE), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def read_until(self, line: str) -> None:
        assert self.process.stdout is not None
        assert any(said.strip() == line for said in self.process.stdout), f"ended before {line!r}"

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.mark.long
def test_a_backfill_into_hourly_partitions_that_is_killed_in_mid_batch_is_exact(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, records=4_000)
    topics.load(kafka.bootstrap, spec)
    arguments = (kafka.bootstrap, topic, tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--budget", 1_200)
    for moment in ("begins 1", "wrote 2"):
        killed = Backfill(*arguments)
        killed.read_until(moment)
        killed.kill()
    last = Backfill(*arguments)
    last.read_until("finished")
    assert last.process.wait() == 0
    rows = spark.read.parquet(str(tmp_path / "out" / "hours")).select("partition", "offset", "hour")
    assert rows.count() == rows.distinct().count() == 4_000
    assert rows.select("hour").distinct().count() == 24
    assert not (tmp_path / "out" / "parts").exists()
