"""What only Redis has: expiry, replicas, a history that can be lost."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from lockgate.commands import evict, register
from lockgate.events import GroupConfig, ReaderRegistrationEvent
from lockgate.group import Group, create
from lockgate_coordinator.store import Store, keys, open_store
from lockgate_testbed.redis import RedisServer


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_server.url, decode_responses=True) as client:
        await client.flushall()
        yield client
        await client.flushall()  # other suites share this server, and one test here leaves a record that nobody could read


@pytest.fixture
async def replicas(redis_server: RedisServer, client: Redis) -> AsyncIterator[tuple[Store, Store]]:
    both = open_store(redis_server.url), open_store(redis_server.url)
    yield both
    for store in both:
        await store.close()


async def loaded_group(store: Store) -> Group:
    group = (await store.load("g")).group
    assert group is not None
    return group


async def change(store: Store, group: Group) -> None:
    assert await store.commit(await store.load("g"), group) is None


async def test_only_a_deleted_group_expires(client: Redis, replicas: tuple[Store, Store]) -> None:
    store, _ = replicas
    for _ in range(2):
        loaded = await store.load("g")
        await change(store, create("g", GroupConfig(), loaded.now_ms))
        assert await client.pttl(keys.state("g")) == -1
        assert await store.delete(await store.load("g"))
        assert 0 < await client.pttl(keys.state("g")) <= 3_600_000


async def test_replicas_in_turn_see_all_that_the_other_did(replicas: tuple[Store, Store]) -> None:
    first, second = replicas
    await change(first, create("g", GroupConfig(), 1))
    for turn in range(6):
        store, other = (first, second) if turn % 2 else (second, first)
        await change(store, register(await loaded_group(store), "a", ReaderRegistrationEvent(subtask=turn % 3), turn))
        if turn % 3 == 2:
            await change(store, evict(await loaded_group(store), "a", 0))
        assert await loaded_group(other) == await loaded_group(store)


async def test_a_history_that_was_lost_is_forgotten_by_every_replica(client: Redis, replicas: tuple[Store, Store]) -> None:
    first, second = replicas
    group = create("g", GroupConfig(), 1)
    await change(first, group)
    kept = await client.hgetall(keys.state("g"))
    await change(first, register(group, "a", ReaderRegistrationEvent(subtask=0), 2))
    assert len((await loaded_group(second)).readers) == 1
    await client.delete(keys.state("g"))
    assert (await first.load("g")).group is None
    await client.hset(keys.state("g"), mapping={str(field): str(text) for field, text in kept.items()})
    assert await loaded_group(first) == await loaded_group(second) == group


async def test_a_commit_writes_the_head_and_the_changed_readers_alone(client: Redis, replicas: tuple[Store, Store]) -> None:
    store, _ = replicas
    group = create("g", GroupConfig(), 1)
    for subtask in range(3):
        group = register(group, "a", ReaderRegistrationEvent(subtask=subtask), 1)
    await change(store, group)
    await client.hset(keys.state("g"), keys.reader_field(("a", 1)), "not to be touched")
    await change(store, replace(register(group, "a", ReaderRegistrationEvent(subtask=0), 2), heard_at=3))
    assert await client.hget(keys.state("g"), keys.reader_field(("a", 1))) == "not to be touched"
