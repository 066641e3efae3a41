"""Two queries that stay level with each other through a real coordinator, and over its death."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import (
    Alignment,
    ConfigurationError,
    Coordinator,
    CoordinatorRefused,
    align,
    alignment_of,
    report_progress,
    status,
)
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for
from support.browser import CHROMIUM, MISSING, chromium, watched
from support.queries import PATIENCE_S, WindowedCount, kafka_stream, stop_all

RECORDS = 8_000
PATIENTLY = "1 minute"  # for an answer, where the coordinator is not away
# No shorter lease is kept for certain.
GROUP = {"max_drift_ms": HOUR_MS, "lease_ms": 6_000, "update_interval_ms": 200, "catch_up": "strict"}


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("a-day", weights=(1, 2, 4, 8), records=RECORDS)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as process:
        yield process


def create(url: str, group: str, **config: Any) -> None:
    httpx.put(f"{url}/v1/groups/{group}", json={**GROUP, **config}).raise_for_status()


def inspect(url: str, group: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/v1/groups/{group}", timeout=60).raise_for_status().json()
    return found


def member(
    spark: SparkSession, kafka: KafkaBroker, spec: SkewedTopic, url: str, *, budget: int, group: str = "g", **more: Any
) -> WindowedCount:
    stream = kafka_stream(spark, kafka.bootstrap, spec.name, maxOffsetsPerTrigger=budget)
    coordinator = Coordinator(url, group=group, timeout=more.pop("timeout", "2 seconds"))
    return WindowedCount(align(stream, Alignment(coordinator=coordinator, **more)))


def above_the_ceiling(query: WindowedCount) -> list[int]:
    """Plans above the ceiling that their reader had received last."""
    return [plan.target for plan in query.plans if plan.target > plan.read_limit]


def worst_drift(spec: SkewedTopic, planned: WindowedCount, other: WindowedCount) -> int:
    """How far a plan of one query was ahead of where the other stood at that moment: below its
    first unread record; in ms.
    """
    worst = 0
    for plan in planned.plans:
        finished = [batch for batch, at in zip(other.plans, other.finished_at, strict=True) if at <= plan.planned_at]
        ends = {split.partition: split.end for split in finished[-1].partitions} if finished else {}
        unread = [
            spec.event_time(partition, ends.get(f"{spec.name}-{partition}", 0))
            for partition, count in enumerate(spec.counts())
            if ends.get(f"{spec.name}-{partition}", 0) < count
        ]
        worst = max(worst, plan.target - (min(unread) - 1) if unread else 0)
    return worst


@pytest.mark.parametrize("store", ["memory", pytest.param("redis", marks=pytest.mark.long)])
def test_two_queries_never_plan_further_apart_than_the_drift(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, redis_server: RedisServer, tmp_path: Path, store: str
) -> None:
    drift = 4 * HOUR_MS
    with CoordinatorProcess("memory://" if store == "memory" else redis_server.url) as coordinator:
        group, expected = f"apart-{store}", [f"{store}-{name}" for name in ("fast", "slow")]
        create(coordinator.url, group, max_drift_ms=drift, expected_sources=expected)
        means: dict[str, Any] = {"group": group, "timeout": PATIENTLY}
        fast = member(spark, kafka, day, coordinator.url, budget=RECORDS, late_rows="count", **means)
        slow = member(spark, kafka, day, coordinator.url, budget=RECORDS // 7, **means)
        for query, name in ((fast, "fast"), (slow, "slow")):
            query.start(tmp_path / name, name=f"{store} {name}")
        for query in (slow, fast):
            query.wait_until(lambda query: query.plans)
        assert [thread.name for thread in threading.enumerate()].count(f"lockgate-{group}") == 1, "one session for both"
        assert slow.running, "who holds the other one"
        assert [fast.finish().counted, slow.finish().counted] == [RECORDS, RECORDS]
        assert above_the_ceiling(fast) == above_the_ceiling(slow) == []
        assert 0 < worst_drift(day, fast, slow) <= drift
        assert any(plan.paused for plan in fast.plans)
        assert any(plan.resumed for plan in fast.plans)
        readers = {s["source"]: s["readers"][0] for s in inspect(coordinator.url, group)["sources"]}
        assert {name: reader["state"] for name, reader in readers.items()} == dict.fromkeys(expected, "finished")
        facts = [readers[name]["facts"] for name in expected]
        assert [each["late_rows"] for each in facts] == [0, None], "the slow one does not count them"
        assert all(each["rows_saved"] >= 0 for each in facts)


@pytest.mark.long
def test_a_paused_query_under_available_now_waits_and_is_not_ended(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    create(coordinator.url, "g", expected_sources=["late"], max_drift_ms=6 * HOUR_MS)
    early = member(spark, kafka, day, coordinator.url, budget=RECORDS).start(tmp_path / "early", name="early")
    late = member(spark, kafka, day, coordinator.url, budget=RECORDS).start(tmp_path / "late", name="late")
    assert early.finish().counted == late.finish().counted == RECORDS


@pytest.mark.long
def test_a_query_paused_by_an_operator_reads_nothing_until_it_is_resumed(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    create(coordinator.url, "g", expected_sources=["orders"])
    pause = f"{coordinator.url}/v1/groups/g/sources/orders/pause"
    httpx.put(pause, json={"reason": "the sink is away"}).raise_for_status()
    query = member(spark, kafka, day, coordinator.url, budget=RECORDS).start(tmp_path, name="orders")
    wait_for(lambda: query.query is not None and "operator" in status(query.query).waits_for)
    assert query.query is not None
    assert '"the sink is away"' in status(query.query).sentence
    assert query.plans == []
    assert inspect(coordinator.url, "g")["sources"][0]["readers"][0]["state"] == "active"
    httpx.delete(pause).raise_for_status()
    assert query.finish().counted == RECORDS


@pytest.mark.long
def test_a_query_that_is_paused_in_the_browser_waits_and_reads_all_once_it_is_resumed_there(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    if CHROMIUM is None:
        pytest.skip(MISSING)
    create(coordinator.url, "g", expected_sources=["orders"])
    query = member(spark, kafka, day, coordinator.url, budget=RECORDS // 20).start(tmp_path, name="orders")
    query.wait_until(lambda query: len(query.plans) > 0)
    with chromium() as browser, watched(browser, f"{coordinator.url}/#/groups/g") as page:
        for act in ("Pause", "Resume"):
            page.get_by_role("button", name=act).click()
            page.get_by_role("dialog").get_by_role("button", name=act).click()
            if act == "Pause":
                wait_for(lambda: query.query is not None and "operator" in status(query.query).waits_for)
                expect(page.get_by_role("group", name="Sources")).to_contain_text("paused by an operator")
                assert query.running
    assert query.finish().counted == RECORDS


@pytest.mark.long
def test_stopping_a_paused_query_takes_no_longer_than_a_step(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    create(coordinator.url, "g", expected_sources=["never"])
    held = member(spark, kafka, day, coordinator.url, budget=RECORDS).start(tmp_path, name="held")
    wait_for(lambda: readers(coordinator.url) == 1)
    stopper = threading.Thread(target=held.stop)
    stopper.start()
    stopper.join(timeout=60)
    assert not stopper.is_alive()
    assert not held.running
    assert held.counted == 0


@pytest.mark.long
def test_max_wait_ends_a_query_that_waits_for_too_long_and_names_who_holds_it(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    create(coordinator.url, "g", expected_sources=["never"])
    held = member(spark, kafka, day, coordinator.url, budget=RECORDS, max_wait="1 second", timeout=PATIENTLY).start(
        tmp_path, name="held"
    )
    with pytest.raises(Exception, match=r"(?s)blocked by never/0.*max_wait"):
        held.finish()


@pytest.mark.long
def test_a_coordinator_that_is_down_at_the_start_is_waited_for(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    coordinator.stop()
    waiting = member(spark, kafka, day, coordinator.url, budget=RECORDS).start(tmp_path, name="waiting")
    wait_for(lambda: waiting.query is not None and waiting.query.status["isTriggerActive"])
    assert waiting.counted == 0
    coordinator.start()
    assert waiting.finish().counted == RECORDS


def test_over_the_coordinator_s_death_nobody_runs_free_and_both_queries_finish(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    drift = 3 * HOUR_MS
    create(coordinator.url, "g", expected_sources=["fast", "slow"], max_drift_ms=drift)
    pair = [member(spark, kafka, day, coordinator.url, budget=budget) for budget in (RECORDS, RECORDS // 9)]
    for query, name in zip(pair, ("fast", "slow"), strict=True):
        query.start(tmp_path / name, name=name)
    fast, slow = pair
    fast.wait_until(lambda query: len(query.plans) >= 3)
    coordinator.kill()
    killed_at = len(fast.plans)
    # The slow one is not yet at the ceiling and goes on to it; both stand there then.
    wait_for(lambda: all(stands(query) for query in pair))
    told = {plan.read_limit for query in pair for plan in query.plans}
    assert max(plan.target for query in pair for plan in query.plans) <= max(told)
    stood = [len(query.plans) for query in pair]
    coordinator.start()
    assert [query.finish().counted for query in pair] == [RECORDS, RECORDS]
    assert len(fast.plans) > max(killed_at, stood[0])
    assert above_the_ceiling(fast) == above_the_ceiling(slow) == []
    assert worst_drift(day, fast, slow) <= drift
    assert inspect(coordinator.url, "g")["config"]["max_drift_ms"] == drift, (
        "the group came back with its own configuration"
    )


@pytest.mark.long
def test_executors_report_their_progress_in_the_middle_of_a_batch(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []

    def work(batch: DataFrame, _: int) -> None:
        plan = alignment_of(batch)
        before = inspect(coordinator.url, "g")["group_watermark"]
        report_progress(batch)
        seen.append((before, inspect(coordinator.url, "g")["group_watermark"]))
        assert plan is not None

    stream = kafka_stream(spark, kafka.bootstrap, day.name, maxOffsetsPerTrigger=RECORDS // 4)
    stream = align(stream, Alignment(coordinator=Coordinator(coordinator.url, group="g", timeout=PATIENTLY)))
    query = (
        stream.writeStream.queryName("busy")
        .foreachBatch(work)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
    )
    assert query.start().awaitTermination(PATIENCE_S)
    rose = [after - before for before, after in seen if after > before]
    assert len(rose) >= 3, seen
    assert max(rose) > HOUR_MS


def test_a_group_with_another_drift_is_an_error_at_the_start(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess
) -> None:
    create(coordinator.url, "g")
    with pytest.raises(ConfigurationError, match=r"10 minutes.*group g has '1 hour'"):
        member(spark, kafka, day, coordinator.url, budget=1, max_drift="10 minutes")


def test_a_url_that_is_no_coordinator_is_an_error_at_the_start(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic
) -> None:
    with CoordinatorProcess() as coordinator, pytest.raises(CoordinatorRefused, match="404"):
        member(spark, kafka, day, f"{coordinator.url}/elsewhere", budget=1)


@pytest.mark.long
def test_two_queries_of_one_name_do_not_fence_each_other(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    create(coordinator.url, "g", expected_sources=["never"])
    stream = kafka_stream(spark, kafka.bootstrap, day.name)
    stream = align(stream, Alignment(coordinator=Coordinator(coordinator.url, group="g", source="same")))
    first = WindowedCount(stream).start(tmp_path / "first", name="first")
    wait_for(lambda: readers(coordinator.url) == 1)
    with pytest.raises(Exception, match="reader-busy"):
        WindowedCount(stream).start(tmp_path / "second", name="second").finish()
    assert first.running
    stop_all([first])


def readers(url: str) -> int:
    return sum(len(source["readers"]) for source in inspect(url, "g")["sources"])


def stands(query: WindowedCount) -> bool:
    """Whether the query waits in a plan: its trigger is active, and no task runs."""
    if query.query is None or not query.running:
        return True
    status = query.query.status
    return bool(status["isTriggerActive"]) and "Getting offsets" in status["message"]
