"""Two coordinators over a real Redis. Where its clock leaps by more than a lease, forward and back,
the ceiling stays, also for those who look and scrape between the reports. Where their own clocks
are wrong, leases, epochs and revisions are by Redis's. (The rule alone:
tests/core/group/test_clock_jumps.py.)
"""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from redis import Redis

from lockgate_coordinator.store import open_store, states
from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.redis import RedisServer
from support.in_process import Service
from support.leaping import AHEAD, LeapingScript

CONFIG = {"lease_ms": 120_000, "update_interval_ms": 40_000}
HOUR_S = 3_600
LEASE_MS = 600
LEAPS_S = [HOUR_S, -HOUR_S, 130, 24 * HOUR_S, -HOUR_S, 30 * 24 * HOUR_S]
CEILING = "group_max_desired_watermark_timestamp_seconds{group=g}"


async def seen_by(*coordinators: Service) -> set[int]:
    """Return the ceilings that they show to those who only look, or scrape."""
    shown = {(await each.shows("/alignment"))["max_desired_watermark"] for each in coordinators}
    return shown | {round((await each.scrape())[CEILING] * 1_000) for each in coordinators}


@pytest.fixture
def redis(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> "Redis[bytes]":
    monkeypatch.setattr(states, "Script", LeapingScript)
    client = Redis.from_url(redis_server.url)
    client.flushall()
    return client


@pytest.fixture
async def pair(redis: "Redis[bytes]", redis_server: RedisServer) -> AsyncIterator[tuple[Service, Service]]:
    """Two coordinators; reader `slow` stands at 5, so the ceiling is 15."""
    async with AsyncExitStack() as opened:
        epochs = dict[str, int]()
        pair = tuple(Service(store=open_store(redis_server.url), config=CONFIG, epochs=epochs) for _ in range(2))
        for each in pair:
            await opened.enter_async_context(each.running())
        await pair[0].reports("slow", 5)
        yield pair[0], pair[1]
    redis.flushall()


@pytest.mark.redis
async def test_no_leap_of_the_clock_of_redis_sets_a_reader_free(
    redis: "Redis[bytes]", pair: tuple[Service, Service], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = pair
    for leap_s in (0, *LEAPS_S):
        redis.incrby(AHEAD, leap_s)
        assert await seen_by(*pair) == {15}
        assert (await second.reports("fast", 100))["max_desired_watermark"] == 15
        assert await seen_by(*pair) == {15}
        assert (await first.reports("slow", 5))["max_desired_watermark"] == 15
    assert "its clock has jumped" in caplog.text
    assert "reader lost" not in caplog.text


@pytest.mark.redis
async def test_report_first_or_look_first_is_alike_after_a_leap(
    redis: "Redis[bytes]", pair: tuple[Service, Service]
) -> None:
    for first in ("report", "look"):
        redis.incrby(AHEAD, HOUR_S)
        if first == "look":
            await seen_by(*pair)
        assert (await pair[1].reports("fast", 100))["max_desired_watermark"] == 15
        assert await seen_by(*pair) == {15}


@pytest.mark.redis
async def test_clocks_of_coordinators_an_hour_off_change_nothing(
    redis: "Redis[bytes]", pair: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, right_ns, off_s = time.time, time.time_ns, HOUR_S
    monkeypatch.setattr(time, "time", lambda: right() + off_s)
    monkeypatch.setattr(time, "time_ns", lambda: right_ns() + off_s * 10**9)
    ahead, behind = pair
    await ahead.http.put("/v1/groups/g", json={**ahead.config, "lease_ms": LEASE_MS, "update_interval_ms": 600_000})
    began = 1_000 * int(redis.time()[0])
    dies = event = await ahead.reports("slow", 5)  # the shorter lease is for each with its next word
    while event["group_watermark"] == 5:
        off_s = -HOUR_S
        await behind.reports("fast", 100)
        off_s = HOUR_S
        event = await ahead.reports("fast", 100)
    assert event["revision"] >= dies["revision"] + LEASE_MS - 2 * CACHED_WITHIN_MS
    until = 1_000 * (int(redis.time()[0]) + 1)
    assert all(began - CACHED_WITHIN_MS <= at <= until for at in (event["revision"], ahead.epochs["g/fast/0"]))
    for off, replica in ((HOUR_S, ahead), (-HOUR_S, behind)):
        off_s = off
        assert (await replica.shows("/sources/slow"))["readers"][0]["state"] == "lost"


async def test_the_clock_of_a_memory_store_does_not_leap_with_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Service(store=open_store("memory://"), config=CONFIG)
    for source, watermark in (("slow", 5), ("fast", 100)):
        assert (await alone.reports(source, watermark))["max_desired_watermark"] == 15
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + HOUR_S * 10**9)
    assert await seen_by(alone) == {15}
    assert (await alone.reports("slow", 5))["max_desired_watermark"] == 15
    assert await seen_by(alone) == {15}
