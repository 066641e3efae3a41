"""A refused commit may reserve the state: other processes wait for the next one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from redis import Redis

from lockgate.enumerator.exchange import create as enumerator
from lockgate.group.group import create
from lockgate.wire.events import GroupConfig
from lockgate_coordinator.store import Store, open_store
from lockgate_testbed.redis import RedisServer

pytestmark = pytest.mark.redis

LONG_MS = 60_000
Commit = Callable[[Store, int], Awaitable[bool]]


async def of_the_group(store: Store, reserve_ms: int) -> bool:
    loaded = await store.load("g")
    return await store.commit(loaded, create("g", GroupConfig(), loaded.now_ms), reserve_ms) is None


async def of_its_splits(store: Store, reserve_ms: int) -> bool:
    loaded = await store.load_splits("g")
    return await store.commit_splits(loaded, {"s": enumerator(GroupConfig(), loaded.now_ms)}, reserve_ms)


async def overtaken(commit: Commit, far: Store, near: Store, reserve_ms: int) -> bool:
    """Return a commit of `far` while `near` commits in between, as over a slow network."""
    if commit is of_the_group:
        loaded = await far.load("g")
        await commit(near, 0)
        return await far.commit(loaded, create("g", GroupConfig(), loaded.now_ms), reserve_ms) is None
    splits = await far.load_splits("g")
    await commit(near, 0)
    return await far.commit_splits(splits, {"s": enumerator(GroupConfig(), splits.now_ms)}, reserve_ms)


@pytest.fixture(params=[of_the_group, of_its_splits])
def commit(request: pytest.FixtureRequest) -> Commit:
    chosen: Commit = request.param
    return chosen


@pytest.fixture
async def processes(redis: Redis, redis_server: RedisServer) -> AsyncIterator[tuple[Store, Store]]:
    both = open_store(redis_server.url), open_store(redis_server.url)
    assert await of_the_group(both[1], 0)
    yield both
    for each in both:
        await each.close()


async def test_the_others_wait_until_the_process_that_reserved_has_committed(
    processes: tuple[Store, Store], commit: Commit
) -> None:
    far, near = processes
    assert not await overtaken(commit, far, near, LONG_MS)
    waiting = asyncio.create_task(commit(near, 0))
    assert await commit(far, 0)
    waiting.cancel()
    assert await commit(near, 0), "the reservation has ended with the commit"


async def test_a_process_that_does_not_come_back_delays_the_others_once(
    processes: tuple[Store, Store], commit: Commit
) -> None:
    dead, near = processes
    assert not await overtaken(commit, dead, near, 200)
    began = asyncio.get_running_loop().time()
    while not await commit(near, 0):
        pass
    assert asyncio.get_running_loop().time() - began >= 0.1
    assert await commit(near, 0)


async def test_a_commit_that_gets_through_reserves_nothing(processes: tuple[Store, Store], commit: Commit) -> None:
    far, near = processes
    assert await commit(far, LONG_MS)
    assert await commit(near, LONG_MS)
    assert not await overtaken(commit, far, near, 0)
    assert await commit(near, 0)
