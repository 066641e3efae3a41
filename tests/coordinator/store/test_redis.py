"""The Redis store beyond the contract: expiry, replicas, lost histories, Redis's clock."""

import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha1

import pytest
from redis.asyncio import Redis

from lockgate.group.group import Group, create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.store import Loaded, Store, StoreUnavailable, keys, open_store
from lockgate_testbed.redis import RedisServer
from support.turns import evict, register

HOUR_MS = 3_600_000


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_server.url, decode_responses=True) as client:
        await client.flushall()
        yield client
        # Other suites share this server, and one test here leaves a record that cannot be decoded.
        await client.flushall()


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


def with_readers(count: int) -> Group:
    group = create("g", GroupConfig(), 1)
    for subtask in range(count):
        group = register(group, "a", ReaderRegistrationEvent(subtask=subtask), 1)
    return group


async def test_only_a_deleted_group_expires(client: Redis, replicas: tuple[Store, Store]) -> None:
    store, _ = replicas
    for _ in range(2):
        loaded = await store.load("g")
        await change(store, create("g", GroupConfig(), loaded.now_ms))
        assert await client.pttl(keys.state("g")) == -1
        assert isinstance(await store.discard("g"), int)
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


async def test_a_commit_writes_the_head_and_the_changed_readers_alone(
    client: Redis, replicas: tuple[Store, Store]
) -> None:
    store, _ = replicas
    group = create("g", GroupConfig(), 1)
    for subtask in range(3):
        group = register(group, "a", ReaderRegistrationEvent(subtask=subtask), 1)
    await change(store, group)
    await client.hset(keys.state("g"), keys.reader_field(("a", 1)), "not to be touched")
    await change(store, replace(register(group, "a", ReaderRegistrationEvent(subtask=0), 2), heard_at=3))
    assert await client.hget(keys.state("g"), keys.reader_field(("a", 1))) == "not to be touched"


async def test_a_load_reads_the_head_and_the_changed_readers_alone(
    client: Redis, replicas: tuple[Store, Store]
) -> None:
    first, second = replicas
    group = with_readers(3)
    await change(first, group)
    await loaded_group(second)
    await loaded_group(second)
    await client.hset(keys.state("g"), keys.reader_field(("a", 1)), "not to be read")
    group = register(group, "a", ReaderRegistrationEvent(subtask=0), 2)
    await change(first, group)
    assert await loaded_group(second) == group


async def test_commit_with_a_cached_time_that_is_off_is_refused(
    replicas: tuple[Store, Store],
) -> None:
    store, _ = replicas
    group = create("g", GroupConfig(), 1)
    await change(store, group)
    for off_ms in (-HOUR_MS, HOUR_MS):
        cached = store.cached("g")
        assert cached is not None
        instead = await store.commit(replace(cached, now_ms=cached.now_ms + off_ms), replace(group, heard_at=1))
        assert instead is not None
        assert (instead.confirmed, instead.version, instead.group) == (True, cached.version, group)
        assert abs(instead.now_ms - cached.now_ms) < HOUR_MS / 10


async def test_cache_older_than_recorded_removals_is_read_whole(
    replicas: tuple[Store, Store],
) -> None:
    first, second = replicas
    now_ms = (await first.load("g")).now_ms
    group = with_readers(3)
    long_ago = Loaded("g", 0, now_ms - 2 * HOUR_MS, None)
    assert await first.commit(long_ago, group) is None
    assert len((await loaded_group(second)).readers) == len((await loaded_group(second)).readers) == 3
    without_one = evict(group, "a", 0)
    assert await first.commit(replace(await first.load("g"), now_ms=long_ago.now_ms), without_one) is None
    await change(first, evict(await loaded_group(first), "a", 1))
    assert list((await loaded_group(second)).readers) == [("a", 2)]


async def test_replica_takes_the_older_group_of_a_redis_that_went_back(
    redis_server: RedisServer,
) -> None:
    with RedisServer(options=("--save", "", "--appendonly", "no", "--dbfilename", "kept.rdb")) as server:
        first, second = open_store(server.url), open_store(server.url)
        await change(first, with_readers(1))
        async with Redis.from_url(server.url) as client:
            await client.save()
        await change(first, register(await loaded_group(first), "a", ReaderRegistrationEvent(subtask=1), 1))
        server.kill()
        server.start()
        await change(second, register(await loaded_group(second), "a", ReaderRegistrationEvent(subtask=2), 1))
        assert (
            set((await loaded_group(second)).readers)
            == set((await loaded_group(first)).readers)
            == {("a", 0), ("a", 2)}
        )
        for store in (first, second):
            await store.close()


async def test_redis_older_than_7_is_refused_and_nothing_is_written(
    client: Redis, replicas: tuple[Store, Store]
) -> None:
    store, other = replicas
    await other.ping()
    await client.flushall()
    # The script sees a Redis as old as 6, which has no REDIS_VERSION_NUM.
    ready = store._ready  # type: ignore[attr-defined]
    ready.text = f"local redis = {{call = redis.call}}\n{ready.text}"
    ready.sha = sha1(ready.text.encode()).hexdigest()
    with pytest.raises(StoreUnavailable, match="this Redis is older than 7"):
        await store.ping()
    assert await client.keys() == []


@pytest.mark.usefixtures("own_store_timeout")
async def test_late_answers_of_a_redis_that_hung_reach_no_other_command(
    redis_server: RedisServer,
) -> None:
    with RedisServer() as server:
        store = open_store(server.url)
        await change(store, with_readers(1))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        with pytest.raises(StoreUnavailable, match=f":{server.port}: .*2 s"):
            await store.load("g")
        os.kill(server.pid, signal.SIGCONT)
        assert await store.names("", 10) == ["g"]
        assert len((await loaded_group(store)).readers) == 1
        await store.close()
