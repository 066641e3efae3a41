"""Samples of a group for charts: what they have, how often they are taken, how they thin out."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest

from lockgate.wire.events import (
    GroupConfig,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
)
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.sampler import Sampler
from lockgate_coordinator.store.base import SAMPLE_LEVELS
from lockgate_coordinator.store.memory import MemoryStore

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
NOW = 1_800_000_000_000


class Clocked:
    """A coordinator over memory whose clock a test moves."""

    def __init__(self) -> None:
        self.now_ms = NOW
        self.store = MemoryStore(lambda: self.now_ms)
        self.coordinator = Coordinator(self.store)
        self.sampler = next(each for each in self.coordinator._listeners.all if isinstance(each, Sampler))
        self.epochs: dict[str, int] = {}

    async def reports(self, source: str, watermark: int, **more: Any) -> None:
        if source not in self.epochs:
            answer = await self.coordinator.register("g", source, ReaderRegistrationEvent(subtask=0))
            self.epochs[source] = answer.epoch
        event = ReportedWatermarkEvent(subtask=0, epoch=self.epochs[source], watermark=watermark, **more)
        await self.coordinator.report("g", source, event)
        await asyncio.gather(*self.sampler._tasks)

    async def samples(self) -> list[tuple[int, dict[str, Any]]]:
        return [(at, json.loads(text)) for at, text in await self.coordinator.store.read_samples("g")]


@pytest.fixture
async def clocked() -> AsyncIterator[Clocked]:
    made = Clocked()
    config = GroupConfig(lease_ms=24 * HOUR, max_drift_ms=10)
    await made.coordinator.configure("g", config)
    yield made
    await made.coordinator.close()


async def test_a_sample_has_the_group_its_holders_and_each_source(clocked: Clocked) -> None:
    await clocked.reports("a", 5, facts=ReaderFacts(late_rows=2, rows_saved=7))
    await clocked.reports("b", 9, idle=True)
    clocked.now_ms += 10 * SECOND
    await clocked.reports("a", 6)
    at, newest = (await clocked.samples())[-1]
    assert at == clocked.now_ms
    assert (newest["group_watermark"], newest["max_desired_watermark"]) == (6, 16)
    assert [held["source"] for held in newest["blocked_by"]] == ["a"]
    assert newest["sources"]["a"] == {"watermark": 6, "state": "active", "readers": 1, "late_rows": 2, "rows_saved": 7}
    assert newest["sources"]["b"]["state"] == "idle"


async def test_a_source_that_an_operator_has_paused_is_paused(clocked: Clocked) -> None:
    await clocked.reports("a", 5)
    await clocked.coordinator.pause("g", "a", None, "")
    clocked.now_ms += 10 * SECOND
    await clocked.reports("a", 5)
    assert (await clocked.samples())[-1][1]["sources"]["a"]["state"] == "paused"


async def test_there_is_one_sample_in_ten_seconds_however_often_a_group_is_heard(clocked: Clocked) -> None:
    for _ in range(21):
        await clocked.reports("a", 5)
        clocked.now_ms += SECOND
    assert [at - NOW for at, _ in await clocked.samples()] == [0, 10 * SECOND, 20 * SECOND]


async def test_samples_are_thinned_out_with_age_and_bounded(clocked: Clocked) -> None:
    for number in range(2 * HOUR // (10 * SECOND)):
        await clocked.reports("a", number)
        clocked.now_ms += 10 * SECOND
    times = [at for at, _ in await clocked.samples()]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[-59:] == [10 * SECOND] * 59
    assert set(gaps[:-60]) == {MINUTE}
    assert len(times) <= sum(most for _, most in SAMPLE_LEVELS)
