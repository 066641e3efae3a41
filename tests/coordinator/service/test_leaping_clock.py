"""A real Redis whose clock leaps by more than a lease, forward and back, under two coordinators
that are looked at between the reports: the ceiling stays. (The rule alone:
tests/core/group/test_clock_jumps.py.)
"""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from redis import Redis

from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore, open_store
from lockgate_coordinator.store import redis as redis_store
from lockgate_testbed.redis import RedisServer
from support.leaping import AHEAD, LeapingScript

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=120_000, update_interval_ms=40_000, catch_up=CatchUp.STRICT)
HOUR_S = 3_600
LEAPS_S = [HOUR_S, -HOUR_S, 130, 24 * HOUR_S, -HOUR_S, 30 * 24 * HOUR_S]


class Fleet:
    """A group of two readers under several coordinators."""

    def __init__(self, coordinators: list[Coordinator]) -> None:
        self.coordinators = coordinators
        self._epochs: dict[str, int] = {}

    async def reports(self, source: str, watermark: int, through: int = 0) -> int:
        """Return the ceiling that answers it."""
        coordinator = self.coordinators[through]
        if source not in self._epochs:
            event = ReaderRegistrationEvent(subtask=0, config=CONFIG)
            self._epochs[source] = (await coordinator.register("g", source, event)).epoch
        report = ReportedWatermarkEvent(subtask=0, epoch=self._epochs[source], watermark=watermark)
        return (await coordinator.report("g", source, report)).max_desired_watermark

    async def looks(self) -> list[int]:
        """Return the ceiling that each coordinator shows to those who only look."""
        return [(await each.refresh("g")).event.max_desired_watermark for each in self.coordinators]


@pytest.fixture
async def fleet(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setattr(redis_store, "Script", LeapingScript)
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
        async with AsyncExitStack() as opened:
            coordinators = []
            for _ in range(2):
                coordinators.append(Coordinator(open_store(redis_server.url)))
                opened.push_async_callback(coordinators[-1].close)
            yield Fleet(coordinators)
        client.flushall()


@pytest.mark.redis
async def test_no_leap_of_the_clock_of_redis_sets_a_reader_free(redis_server: RedisServer, fleet: Fleet) -> None:
    await fleet.reports("slow", 5)
    assert await fleet.reports("fast", 100) == 15
    assert await fleet.looks() == [15, 15]
    ahead_s = 0
    with Redis.from_url(redis_server.url) as client:
        for leap_s in LEAPS_S:
            ahead_s += leap_s
            client.set(AHEAD, ahead_s)
            assert await fleet.looks() == [15, 15]
            assert await fleet.reports("fast", 100, through=1) == 15
            assert await fleet.looks() == [15, 15]
            assert await fleet.reports("slow", 5) == 15


@pytest.mark.redis
async def test_a_report_first_or_a_look_first_is_alike_after_a_leap(redis_server: RedisServer, fleet: Fleet) -> None:
    with Redis.from_url(redis_server.url) as client:
        await fleet.reports("slow", 5)
        await fleet.looks()
        for first in ("report", "look"):
            client.incrby(AHEAD, HOUR_S)
            if first == "look":
                await fleet.looks()
            assert await fleet.reports("fast", 100, through=1) == 15
            assert await fleet.looks() == [15, 15]


async def test_the_clock_of_a_memory_store_does_not_leap_with_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet([Coordinator(MemoryStore())])
    await fleet.reports("slow", 5)
    assert await fleet.reports("fast", 100) == 15
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + HOUR_S * 10**9)
    assert await fleet.looks() == [15]
    assert MAX not in [await fleet.reports("slow", 5), *await fleet.looks()]
