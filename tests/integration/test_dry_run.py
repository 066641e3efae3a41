"""Alignment switched off or made a dry run from outside, on a real broker: Spark reads as it would
without.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, align, align_all, report_progress
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.queries import PATIENCE_S, WindowedCount, kafka_stream

RECORDS, BUDGET = 8_000, 1_200


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("dry-run", weights=(1, 2, 4, 16), records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Keys that a test has set, by `put`; they are unset at the end."""
    kept: dict[str, str] = {}
    yield kept
    for key in kept:
        spark.conf.unset(key)


def put(spark: SparkSession, kept: dict[str, str], **values: str) -> None:
    for key, value in values.items():
        kept[f"spark.lockgate.{key}"] = value
        spark.conf.set(f"spark.lockgate.{key}", value)


def ranges(query: WindowedCount) -> list[str]:
    """Where each batch ended, by Spark's own progress: JSON."""
    assert query.query is not None
    return [progress["sources"][0]["endOffset"] for progress in query.query.recentProgress if progress["numInputRows"]]


def test_mode_observe_reads_what_spark_reads_and_tells_what_alignment_would_have_read(
    spark: SparkSession,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
    conf: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="lockgate")
    put(spark, conf, mode="observe", maxDrift="10 minutes")
    stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=BUDGET)
    native = WindowedCount(stream).start(tmp_path / "native").finish()
    observed = WindowedCount(align(stream)).start(tmp_path / "observed").finish()
    assert ranges(observed) == ranges(native)
    assert observed.counted == native.counted < RECORDS
    assert not any(plan.applied for plan in observed.plans)
    first = observed.plans[0]
    late = max(first.partitions, key=lambda split: split.watermark)
    partition = late.partition.rpartition("-")[2]
    assert late.end < json.loads(ranges(observed)[0])[skewed.name][partition], (
        "alignment would have left most of the late one for later"
    )
    assert re.search(r"Spark read 7 batches, [67] of them ahead of the plan, by \d,\d{3} offsets", caplog.text)


def test_mode_observe_by_code_joins_no_group_and_waits_for_none(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    with CoordinatorProcess() as coordinator:
        alignment = Alignment(mode="observe", coordinator=Coordinator(coordinator.url, group="nobody"))
        stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=RECORDS // 2)
        one, other = align_all([stream, kafka_stream(spark, kafka.bootstrap, skewed.name)], alignment)
        query = WindowedCount(one.union(other)).start(tmp_path).finish()
        assert {split.source for plan in query.plans for split in plan.partitions} == {0, 1}
        assert query.plans[0].blocked_by == ()
        assert httpx.get(f"{coordinator.url}/v1/groups/nobody", timeout=60).status_code == 404


OFF, DRY = {"enabled": "false"}, {"mode": "observe"}


@pytest.mark.parametrize("switch", [OFF, pytest.param(DRY, marks=pytest.mark.long)])
def test_a_job_that_reports_progress_runs_on_as_it_is_when_it_is_switched_off(
    spark: SparkSession,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
    conf: dict[str, str],
    switch: dict[str, str],
) -> None:
    put(spark, conf, **switch)
    counted = []

    def work(batch: DataFrame, _: int) -> None:
        report_progress(batch)
        counted.append(batch.count())

    stream = align(
        kafka_stream(spark, kafka.bootstrap, skewed.name),
        Alignment(coordinator=Coordinator("http://127.0.0.1:9", group="g")),
    )
    query = (
        stream.writeStream.foreachBatch(work)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    assert counted == [RECORDS]


def test_by_conf_alone_a_query_joins_a_group(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path, conf: dict[str, str]
) -> None:
    with CoordinatorProcess() as coordinator:
        put(
            spark,
            conf,
            **{"coordinator.url": coordinator.url, "coordinator.group": "by-conf", "coordinator.source": "orders"},
        )
        query = WindowedCount(
            align(kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=RECORDS // 2))
        )
        assert query.start(tmp_path).finish().counted == RECORDS
        assert query.plans[0].group_watermark is not None
