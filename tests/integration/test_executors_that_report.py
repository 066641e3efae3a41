"""Executors that report to a real coordinator in the middle of a batch. Other queries go on by
these reports, and the reports can never break a rule.
"""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import DataFrame, SparkSession

import support
from lockgate import watermark
from lockgate_spark import Alignment, Coordinator, UnsupportedQuery, align, report_progress
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS
from support.answers import wait_for
from support.drivers import Driver, Order
from support.queries import kafka_stream
from support.rows import Rows

MINUTE = 60_000
FAR = 4_070_908_800_000  # 2099
# Kafka's timestamp of records that have their event time in the payload
STAMP = T0_MS + 400 * HOUR_MS
GROUP = {"max_drift_ms": 30 * MINUTE, "catch_up": "strict", "update_interval_ms": 100, "lease_ms": 5_000}
TIMES = [T0_MS + n * MINUTE for n in range(90)]
# fails on what it cannot read
PLACED = "CAST(get_json_object(CAST(value AS STRING), '$.ts') AS TIMESTAMP)"

# for an answer: where nobody is away, no report fails because the machine stands still
PATIENTLY = "1 minute"

REPORTING = Path(support.__path__[0]) / "reporting_driver.py"


@pytest.fixture
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as process:
        yield process


def create(coordinator: CoordinatorProcess, *expected: str, **more: int) -> None:
    httpx.put(f"{coordinator.url}/v1/groups/g", json={**GROUP, "expected_sources": expected, **more}).raise_for_status()


def reader(coordinator: CoordinatorProcess, source: str = "busy") -> dict[str, Any]:
    found: dict[str, Any] = (
        httpx.get(f"{coordinator.url}/v1/groups/g/sources/{source}", timeout=60).raise_for_status().json()["readers"][0]
    )
    return found


def split(reader: dict[str, Any]) -> dict[str, Any]:
    (only,) = reader["splits"].values()
    return dict(only)


def produce(kafka: KafkaBroker, topic: str, times: list[int]) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, ms, None, b"x") for ms in times])


def aligned(
    spark: SparkSession,
    kafka: KafkaBroker,
    topic: str,
    coordinator: CoordinatorProcess,
    source: str = "busy",
    **more: Any,
) -> DataFrame:
    group = Coordinator(coordinator.url, group="g", source=source, timeout=more.pop("timeout", PATIENTLY))
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=more.pop("budget", 1_000))
    return align(stream, Alignment(coordinator=group, **more))


@pytest.mark.long
def test_a_query_goes_on_during_another_one_s_long_batch_and_no_further_once_that_outlasts_its_lease(
    spark: SparkSession, kafka: KafkaBroker, coordinator: CoordinatorProcess, topic: str, tmp_path: Path
) -> None:
    lease_ms = 6_000  # the shortest that is kept for certain
    create(coordinator, "busy", "other", lease_ms=lease_ms)
    produce(kafka, f"{topic}-busy", TIMES)
    produce(kafka, f"{topic}-other", TIMES)
    at_work, may_tell, may_end = threading.Event(), threading.Event(), threading.Event()

    def long_batch(batch: DataFrame, batch_id: int) -> None:
        if batch_id == 0:
            at_work.set()
            assert may_tell.wait(120)
            report_progress(batch)
            assert may_end.wait(120)

    busy = Rows(aligned(spark, kafka, f"{topic}-busy", coordinator), long_batch).start(tmp_path / "busy")
    other = Rows(aligned(spark, kafka, f"{topic}-other", coordinator, "other")).start(tmp_path / "other")
    try:
        assert at_work.wait(120)
        other.wait_until(lambda rows: rows.batches)
        first = len(busy.all)
        assert len(other.all) == first == 30, "both stand at the first ceiling"
        may_tell.set()
        other.wait_until(lambda rows: len(rows.all) > first)
        # On a busy machine the other one may not have said yet that it waits no more: it waited
        # before, too.
        wait_for(lambda: reader(coordinator)["progress_age_ms"] > lease_ms)
        wait_for(lambda: (reader(coordinator, "other")["waiting_ms"] or 0) > lease_ms)
        assert reader(coordinator)["state"] == "active"
        assert [len(busy.batches), len(other.all)] == [1, 59], "the drift above 1 ms below the 30th record"
    finally:
        may_tell.set()
        may_end.set()
    assert len(busy.finish().all) == len(other.finish().all) == len(TIMES)


@pytest.mark.parametrize("payload", [True, pytest.param(False, marks=pytest.mark.long)])
def test_executors_report_event_time_as_the_plan_has_it_without_records_from_2099(
    payload: bool, spark: SparkSession, kafka: KafkaBroker, coordinator: CoordinatorProcess, topic: str, tmp_path: Path
) -> None:
    create(coordinator)
    times = [*TIMES[:20], FAR, *TIMES[20:25]]
    if payload:
        topics.create(kafka.bootstrap, topic, 1)
        documents = [json.dumps({"ts": watermark.iso(ms)}) for ms in times]
        topics.produce(
            kafka.bootstrap, topic, [(0, STAMP, None, document) for document in [*documents, '{"ts": "gestern"}', None]]
        )
    else:
        produce(kafka, topic, times)
    seen: list[tuple[int, int]] = []

    def work(batch: DataFrame, _: int) -> None:
        report_progress(batch)
        found = split(reader(coordinator))
        seen.append((found["watermark"], found["position"]))

    stream = aligned(spark, kafka, topic, coordinator, event_time=PLACED if payload else None)
    Rows(stream, work).start(tmp_path).finish()
    assert seen == [(TIMES[24] - 1, len(times) + 2 * payload)]


@pytest.mark.long
def test_a_stale_epoch_is_refused_with_one_warning_and_the_batch_ends(
    spark: SparkSession,
    kafka: KafkaBroker,
    coordinator: CoordinatorProcess,
    topic: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    create(coordinator)
    produce(kafka, topic, TIMES)
    before: list[int] = []

    def work(batch: DataFrame, _: int) -> None:
        before.append(reader(coordinator)["watermark"])
        takeover = {"subtask": 0, "owner": "somebody else", "takeover": True}
        httpx.post(f"{coordinator.url}/v1/groups/g/sources/busy/readers", json=takeover).raise_for_status()
        report_progress(batch)
        report_progress(batch)

    query = Rows(aligned(spark, kafka, topic, coordinator), work).start(tmp_path)
    with pytest.raises(Exception, match="took over"):
        query.finish()
    assert (tmp_path / "commits" / "0").exists(), "the batch was ended, and the next plan refused"
    assert [reader(coordinator)["watermark"]] == before
    assert len(not_taken(caplog)) == 1


@pytest.mark.long
def test_a_coordinator_that_is_away_costs_one_warning_and_no_batch(
    spark: SparkSession,
    kafka: KafkaBroker,
    coordinator: CoordinatorProcess,
    topic: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    create(coordinator)
    produce(kafka, topic, TIMES)

    def work(batch: DataFrame, batch_id: int) -> None:
        if batch_id == 0:
            coordinator.kill()
            report_progress(batch)
            report_progress(batch)
            coordinator.start()

    query = (
        Rows(aligned(spark, kafka, topic, coordinator, budget=20, timeout="1 second"), work).start(tmp_path).finish()
    )
    assert len(query.all) == len(TIMES)
    assert len(not_taken(caplog)) == 1


def test_a_batch_without_kafka_s_columns_is_refused_in_words(
    spark: SparkSession, kafka: KafkaBroker, coordinator: CoordinatorProcess, topic: str, tmp_path: Path
) -> None:
    create(coordinator)
    produce(kafka, topic, TIMES[:3])
    refused: list[str] = []

    def work(batch: DataFrame, _: int) -> None:
        with pytest.raises(UnsupportedQuery) as raised:
            report_progress(batch.drop("timestamp"))
        refused.append(str(raised.value))

    Rows(aligned(spark, kafka, topic, coordinator), work).start(tmp_path).finish()
    assert ["those that event time is made of" in why and "`timestamp`" in why for why in refused] == [True]


@pytest.mark.long
def test_a_task_that_is_repeated_after_it_was_heard_changes_nothing(
    kafka: KafkaBroker, coordinator: CoordinatorProcess, topic: str, tmp_path: Path
) -> None:
    create(coordinator)
    produce(kafka, topic, TIMES[:25])
    group = {"url": coordinator.url, "group": "g", "source": "busy", "timeout": PATIENTLY}
    driver = Driver(Order("reporting", kafka.bootstrap, topic, 1_000, str(tmp_path), group), REPORTING)
    try:
        driver.finish()
    finally:
        driver.kill()
    told = [json.loads(line.partition(" ")[2]) for line in driver.said if line.startswith("reader ")]
    assert sorted(path.name for path in tmp_path.glob("attempt-*")) == ["attempt-0", "attempt-1"]
    assert [(one["watermark"], split(one)["watermark"], one["progress_ignored"]) for one in told] == [
        (TIMES[24] - 1, TIMES[24] - 1, 0)
    ]


def not_taken(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        found.getMessage()
        for found in caplog.records
        if "progress report of" in found.getMessage() and found.levelno == logging.WARNING
    ]
