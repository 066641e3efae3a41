"""What Prometheus reads: as it parses it, with the right figures, and no series of what is not
there.
"""

import asyncio
import re
import time

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from lockgate_coordinator.service import group_scrape
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import open_store
from lockgate_coordinator.telemetry import totals
from lockgate_testbed.redis import RedisServer
from support.in_process import CONFIG, Service


async def test_reports_are_counted_by_the_way_they_came_and_timed(service: Service) -> None:
    await service.reports("a", 5)
    batch = {"reports": [{"source": "a", **service.report("a", 6)}, {"source": "b", **service.report("a", 6)}]}
    assert (await service.http.post("/v1/groups/g/watermarks", json=batch)).status_code == 200
    progress = {"subtask": 0, "epoch": service.report("a", 0)["epoch"], "batch_id": 1, "attempt": 0, "splits": {}}
    assert (await service.http.post("/v1/groups/g/sources/a/progress", json=progress)).status_code == 200
    seen = await service.scrape()
    assert [seen[f"reports_total{{kind={kind}}}"] for kind in ("single", "batch", "progress")] == [1, 1, 1]
    assert [seen[f"report_duration_seconds_count{{kind={kind}}}"] for kind in ("single", "batch", "progress")] == [
        1,
        1,
        1,
    ]
    assert seen["rejections_total{type=unknown-source}"] == 1
    assert seen["turns_total"] >= 4
    assert seen["store_operation_duration_seconds_count{operation=commit}"] >= 3


async def test_every_refusal_is_counted_by_its_problem(service: Service) -> None:
    await service.reports("a", 5)
    stale = {**service.report("a", 5), "epoch": 1}
    await service.http.post("/v1/groups/g/sources/a/watermarks", json=stale)
    await service.http.post("/v1/groups/g/sources/a/watermarks", content=b"{")
    await service.http.get("/v1/groups/none")
    await service.http.get("/nowhere")
    await service.http.put("/livez")
    seen = await service.scrape()
    expected = ("stale-epoch", "invalid-request", "unknown-group", "not-found", "method-not-allowed")
    assert {kind: seen.get(f"rejections_total{{type={kind}}}") for kind in expected} == dict.fromkeys(expected, 1)
    assert seen["reports_total{kind=single}"] == 1


async def test_a_fault_of_the_service_is_counted_once(service: Service) -> None:
    @service.app.get("/fault")
    async def fault() -> None:
        raise ZeroDivisionError

    assert (await service.http.get("/fault")).status_code == 500
    assert (await service.scrape())["rejections_total{type=internal-server-error}"] == 1


async def test_guards_refusals_are_counted_and_metrics_need_a_token() -> None:
    service = Service(Settings(tokens="read=open-sesame-to-read"))
    assert (await service.http.get("/metrics")).status_code == 401
    service.http.headers["Authorization"] = "Bearer open-sesame-to-read"
    assert (await service.scrape())["rejections_total{type=unauthorized}"] == 1


async def test_a_group_tells_its_watermark_its_ceiling_and_who_is_how_far_ahead(service: Service) -> None:
    await service.reports("a", 5_000)
    await service.reports("b", 8_500)
    seen = await service.scrape()
    assert seen["group_watermark_timestamp_seconds{group=g}"] == 5
    assert seen["group_max_desired_watermark_timestamp_seconds{group=g}"] == 5.01
    assert seen["source_drift_seconds{group=g,source=b}"] == 3.5
    assert seen["source_drift_seconds{group=g,source=a}"] == 0
    assert seen["group_readers{group=g,state=active}"] == 2
    assert seen["group_revision{group=g}"] > 0


async def test_a_group_without_a_watermark_has_no_series_of_one(service: Service) -> None:
    await service.reports("a", 5_000, idle=True)
    seen = await service.scrape()
    assert [name for name in seen if "watermark_timestamp" in name or "drift" in name] == []
    assert seen["group_readers{group=g,state=idle}"] == 1
    assert all(abs(value) < 1e15 for name, value in seen.items() if not name.startswith("process_"))


async def test_paused_time_is_that_of_reports_at_the_ceiling(service: Service) -> None:
    await service.reports("slow", 5_000)
    await service.reports("fast", 9_000)
    for _ in range(3):
        await service.reports("fast", 9_000, later_ms=2_000)
    seen = await service.scrape()
    assert seen["source_waiting_seconds_total{group=g,source=fast}"] == 6
    assert (
        seen["source_waiting_readers{group=g,source=fast}"],
        seen["source_waiting_readers{group=g,source=slow}"],
    ) == (1, 0)
    await service.reports("slow", 9_500)
    await service.reports("fast", 9_000, later_ms=1_000)
    await service.reports("fast", 9_000, later_ms=5_000)
    seen = await service.scrape()
    assert (
        seen["source_waiting_seconds_total{group=g,source=fast}"],
        seen["source_idle_seconds_total{group=g,source=fast}"],
    ) == (7, 0)


async def test_each_moment_of_a_pause_is_counted_by_one_replica(replicas: list[Service]) -> None:
    one, other = replicas
    await one.reports("slow", 1_000)
    begun = time.monotonic()
    await other.reports("fast", 9_000)
    held = time.monotonic()
    while (sent := time.monotonic()) < held + 0.3:
        await one.reports("fast", 9_000)
        await other.reports("fast", 9_000)
    series = "source_waiting_seconds_total{group=g,source=fast}"
    in_all = sum([(await each.scrape()).get(series, 0.0) for each in set(replicas)])
    assert 0.2 < sent - held - 0.1 <= in_all <= time.monotonic() - begun + 0.1


async def test_idle_time_ends_with_the_report_that_ends_it(service: Service) -> None:
    await service.reports("a", 5_000, idle=True)
    await service.reports("a", 5_000, idle=True, later_ms=3_000)
    await service.reports("a", 6_000, later_ms=1_500)
    await service.reports("a", 7_000, later_ms=9_000)
    assert (await service.scrape())["source_idle_seconds_total{group=g,source=a}"] == 4.5


async def test_lost_readers_are_counted_and_shown(service: Service) -> None:
    await service.reports("dies", 5_000)
    await service.reports("lives", 5_000)
    before = await service.scrape()  # a series that began with 1 would have no increase
    assert (
        before["source_lost_readers_total{group=g,source=dies}"],
        before["state_changes_total{kind=reader_lost}"],
    ) == (0, 0)
    for _ in range(6):
        await service.reports("lives", 5_000, later_ms=6_000)
    seen = await service.scrape()
    assert seen["source_lost_readers_total{group=g,source=dies}"] == 1
    assert (seen["group_readers{group=g,state=lost}"], seen["state_changes_total{kind=reader_lost}"]) == (1, 1)


async def test_long_wait_makes_reader_overdue_and_passes_over_its_blocker(
    service: Service,
) -> None:
    await service.http.put("/v1/groups/g", json={**CONFIG, "max_wait_ms": 500, "on_max_wait": "proceed"})
    await service.reports("slow", 5_000)
    await service.reports("fast", 9_000)
    await service.reports("fast", 9_000, later_ms=499)
    seen = await service.scrape()
    assert [seen[f"source_overdue_readers{{group=g,source={source}}}"] for source in ("fast", "slow")] == [0, 0]
    assert seen["source_passed_over_readers_total{group=g,source=slow}"] == 0
    await service.http.put("/v1/groups/h", json={**CONFIG, "max_wait_ms": 500})
    await service.reports("slow", 5_000, "h")
    await service.reports("fast", 9_000, "h")
    await service.reports("slow", 5_000, later_ms=501)
    await service.reports("fast", 9_000, "h")
    seen = await service.scrape()
    assert [seen[f"source_overdue_readers{{group=h,source={source}}}"] for source in ("fast", "slow")] == [1, 0]
    assert [seen[f"source_passed_over_readers_total{{group={group},source=slow}}"] for group in ("g", "h")] == [1, 0]
    assert seen["group_readers{group=g,state=passed_over}"] == 1
    assert [seen[f"state_changes_total{{kind={kind}}}"] for kind in ("reader_overdue", "reader_passed_over")] == [2, 1]


async def test_missing_sources_are_those_expected_that_have_not_reported(service: Service) -> None:
    await service.http.put("/v1/groups/g", json={**CONFIG, "expected_sources": ["a", "b", "c"]})
    missing = [(await service.scrape())["group_missing_sources{group=g}"]]
    for source in ("a", "other", "b", "c"):
        await service.reports(source, 5_000)
        missing.append((await service.scrape())["group_missing_sources{group=g}"])
    assert missing == [3, 2, 2, 1, 0]


async def test_a_conflict_is_a_commit_that_lost_against_another_replicas(redis_server: RedisServer) -> None:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
    first, second = (Service(store=open_store(redis_server.url)) for _ in range(2))

    await first.reports("a", 5)
    await second.reports("b", 5)
    # each but the other's first report finds the group changed since its own
    for watermark in (6, 7):
        await first.reports("a", watermark)
        await first.reports("a", watermark)
        await second.reports("b", watermark)
    assert [(await each.scrape())["store_conflicts_total"] for each in (first, second)] == [2, 2]


async def test_a_deleted_group_leaves_no_series_to_its_successor(service: Service) -> None:
    await service.reports("a", 5_000, idle=True)
    await service.reports("a", 5_000, idle=True, later_ms=1_000)
    assert [name for name in await service.scrape() if "group=g" in name]
    await service.http.delete("/v1/groups/g")
    assert [name for name in await service.scrape() if "group=g" in name] == []
    await service.registers("a")
    await service.reports("a", 5_000, idle=True)
    await service.reports("a", 5_000, idle=True, later_ms=3_000)
    assert (await service.scrape())["source_idle_seconds_total{group=g,source=a}"] == 3


async def test_reported_splits_are_counted_by_state(service: Service) -> None:
    splits = {"t-0": {"watermark": 6_000, "state": "paused"}, "t-1": {"watermark": 5_000, "state": "active"}}
    await service.reports("a", 5_000, splits=splits)
    seen = await service.scrape()
    assert (seen["group_splits{group=g,state=paused}"], seen["group_splits{group=g,state=active}"]) == (1, 1)


async def test_more_groups_and_sources_than_the_limit_cost_no_more_series(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_scrape, "MOST_GROUPS", 2)
    monkeypatch.setattr(group_scrape, "MOST_SOURCES_OF_A_GROUP", 2)
    monkeypatch.setattr(totals, "MOST_SOURCES", 2)
    for group in ("a", "b", "c"):
        for source in ("s", "t", "u"):
            await service.reports(source, 5_000, group, idle=True)
            await service.reports(source, 5_000, group, idle=True, later_ms=1_000)
    seen = await service.scrape()
    assert (seen["groups"], seen["groups_left_out"]) == (2, 1)
    assert {name for name in seen if name.startswith("source_waiting_readers")} == {
        f"source_waiting_readers{{group={group},source={source}}}"
        for group in ("a", "b")
        for source in ("s", "t", "(other)")
    }
    assert seen["source_idle_seconds_total{group=(other),source=(other)}"] == 7


async def test_subscribers_are_those_that_wait_now(service: Service) -> None:
    async def waiting(count: int) -> bool:
        return (await service.scrape())["subscribers{kind=long_poll}"] == count

    await service.reports("a", 5_000)
    revision = (await service.http.get("/v1/groups/g/alignment")).json()["revision"]
    assert await waiting(0)
    poll = asyncio.create_task(
        service.http.get("/v1/groups/g/alignment", params={"after": revision, "wait_ms": 60_000})
    )
    while not await waiting(1):
        assert not poll.done()
    await service.reports("a", 6_000)
    assert (await poll).status_code == 200
    assert await waiting(0)


async def test_names_units_and_helps_are_as_prometheus_asks(service: Service) -> None:
    facts = dict.fromkeys(("late_rows", "rows_saved", "retained_until", "producer_lag_ms", "event_time_rate"), 1)
    await service.reports("a", 5_000, splits={"t-0": {"watermark": 6_000, "state": "active"}}, facts=facts)
    families = list(text_string_to_metric_families((await service.http.get("/metrics")).text))
    ours = [family for family in families if not family.name.startswith("process_")]
    assert len({family.name for family in families}) == len(families) > 25
    for family in ours:
        assert re.fullmatch(r"lockgate_[a-z][a-z_]*[a-z]", family.name), family.name
        assert family.documentation, family.name
        assert not family.documentation.endswith("."), family.name
        assert not re.search("_(ms|millis|milliseconds|minutes|total|count|sum|bucket)$", family.name), family.name
        assert all(sample.name.endswith("_total") for sample in family.samples) == (family.type == "counter"), (
            family.name
        )


async def test_openmetrics_is_given_to_whom_it_is_asked_for_and_parses(service: Service) -> None:
    await service.reports("a", 5_000, idle=True)
    answer = await service.http.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert list(openmetrics.text_string_to_metric_families(answer.text))
