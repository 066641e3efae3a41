"""Several replicas over one Redis and hundreds of readers at once, against a model that knows
nothing of how it is done.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate.watermark import MAX
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

pytestmark = pytest.mark.redis

REPLICAS, STEPS, AT_ONCE = 3, 6, 60
DRIFT = 1_000
GROUP = "/v1/groups/race"
CONFIG = {"max_drift_ms": DRIFT, "catch_up": "strict", "lease_ms": 600_000, "update_interval_ms": 100}


@dataclass
class Model:
    """Who stands where. A reader that is idle, finished or gone stands at MAX; one that never
    reported is not here.
    """

    watermarks: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def minimum(self) -> int:
        return min(self.watermarks.values())

    @property
    def ceiling(self) -> int:
        return MAX if self.minimum == MAX else self.minimum + DRIFT


@dataclass
class Reader:
    """One reader, which has at most one request under way, to whichever replica."""

    key: tuple[str, int]
    replicas: list[httpx.AsyncClient]
    model: Model
    random: Random
    epoch: int = 0
    old: int = 0

    @property
    def url(self) -> str:
        return f"{GROUP}/sources/{self.key[0]}"

    async def register(self) -> None:
        body = {"subtask": self.key[1], "owner": f"run-{self.random.random()}", "takeover": True}
        answer = await self.post(f"{self.url}/readers", body)
        self.old, self.epoch = self.epoch, answer.raise_for_status().json()["epoch"]
        assert self.epoch > self.old

    async def step(self) -> dict[str, Any] | None:
        """Something that readers do; the event that it is answered with."""
        choice = self.random.random()
        if choice < 0.08:
            await self.register()
            return await self.report(self.random.randrange(100_000), replaced=self.old)
        if choice < 0.12:
            gone = await self.any().delete(f"{self.url}/readers/{self.key[1]}", params={"epoch": self.epoch})
            assert gone.status_code == 204
            del self.model.watermarks[self.key]
            await self.register()
            return await self.report(self.random.randrange(100_000))
        return await self.report(self.random.randrange(100_000), idle=choice > 0.95)

    async def report(self, watermark: int, *, idle: bool = False, replaced: int = 0) -> dict[str, Any]:
        body = {"subtask": self.key[1], "epoch": self.epoch, "watermark": watermark, "idle": idle}
        if replaced:  # an older run of the same reader, at the same time
            mine, stale = await asyncio.gather(self.said(body), self.said({**body, "epoch": replaced, "watermark": -1}))
            assert (stale.status_code, stale.json()["current_epoch"]) == (409, self.epoch)
        else:
            mine = await self.said(body)
        event: dict[str, Any] = mine.raise_for_status().json()
        self.model.watermarks[self.key] = MAX if idle else watermark
        assert event["group_watermark"] <= self.model.watermarks[self.key]
        return event

    async def said(self, body: dict[str, Any]) -> httpx.Response:
        return await self.post(f"{self.url}/watermarks", body)

    async def post(self, url: str, body: dict[str, Any]) -> httpx.Response:
        return await self.any().post(url, json=body)

    def any(self) -> httpx.AsyncClient:
        return self.random.choice(self.replicas)


@pytest.fixture(scope="module")
def urls(redis_server: RedisServer) -> Iterator[list[str]]:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
    processes = [CoordinatorProcess(redis_server.url) for _ in range(REPLICAS)]
    try:
        for process in processes:
            process.start()
        yield [process.url for process in processes]
    finally:
        for process in processes:
            process.close()


@asynccontextmanager
async def clients(urls: list[str]) -> AsyncIterator[list[httpx.AsyncClient]]:
    limits = httpx.Limits(max_connections=AT_ONCE)
    opened = [httpx.AsyncClient(base_url=url, limits=limits, timeout=60) for url in urls]
    try:
        yield opened
    finally:
        for client in opened:
            await client.aclose()


@pytest.mark.parametrize(("seed", "count"), [(1, 80), pytest.param(2, 240, marks=pytest.mark.long)])
async def test_every_replica_announces_the_models_minimum_after_each_step(
    urls: list[str], seed: int, count: int
) -> None:
    random, model = Random(seed), Model()
    events: list[dict[str, Any]] = []
    async with clients(urls) as replicas:
        await replicas[0].delete(GROUP)
        await replicas[0].put(GROUP, json=CONFIG)
        readers = [Reader((f"source-{n % 7}", n), replicas, model, Random(f"{seed}-{n}")) for n in range(count)]
        await asyncio.gather(*(reader.register() for reader in readers))
        events += await asyncio.gather(*(reader.report(random.randrange(100_000)) for reader in readers))
        for _ in range(STEPS):
            told = await asyncio.gather(*(reader.step() for reader in random.sample(readers, min(count // 2, AT_ONCE))))
            events += [event for event in told if event is not None]
            for replica in replicas:
                event = (await replica.get(f"{GROUP}/alignment")).json()
                assert (event["group_watermark"], event["max_desired_watermark"]) == (model.minimum, model.ceiling)
                events.append(event)
    check_revisions(events)


def check_revisions(events: list[dict[str, Any]]) -> None:
    """One revision stands for one pair of values, whoever announces it."""
    values: dict[int, set[tuple[int, int]]] = {}
    for event in events:
        values.setdefault(event["revision"], set()).add((event["group_watermark"], event["max_desired_watermark"]))
    assert all(len(pairs) == 1 for pairs in values.values())
