"""The records of split enumerators in Redis: what is written, what is damaged, what was lost."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis import Redis

from coordinator.store.test_splits_contract import full, group
from lockgate.enumerator.exchange import create
from lockgate.wire.events import GroupConfig
from lockgate_coordinator.store import Store, UnreadableGroup, open_store
from lockgate_testbed.redis import RedisServer

STATE = "lockgate:{g}:splits:state"

pytestmark = pytest.mark.redis


@pytest.fixture
async def pair(redis_server: RedisServer) -> AsyncIterator[tuple[Store, "Redis[str]"]]:
    client = Redis.from_url(redis_server.url, decode_responses=True)
    client.flushall()
    store = open_store(redis_server.url)
    yield store, client
    await store.close()
    client.close()


async def test_an_exchange_writes_the_records_that_it_changed_alone(pair: tuple[Store, "Redis[str]"]) -> None:
    store, client = pair
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    loaded = await store.load_splits("g")
    client.hset(STATE, "r:l:s", "untouched")
    client.hset(STATE, "r:1/2:s", "untouched")
    readers = {**loaded.sources["s"].readers}
    readers[0, 2**60] = replace(readers[0, 2**60], heard_at=99)
    assert await store.commit_splits(loaded, {"s": replace(loaded.sources["s"], readers=readers)})
    assert client.hmget(STATE, "r:l:s", "r:1/2:s") == ["untouched", "untouched"]
    assert json.loads(str(client.hget(STATE, f"r:0/{2**60}:s")))["heard_at"] == 99


async def test_newer_and_damaged_records_are_refused_with_a_remedy(
    pair: tuple[Store, "Redis[str]"], redis_server: RedisServer
) -> None:
    store, client = pair
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    for field, text, reason in (
        ("head", '{"format": 9}', "needs format 9, and this one supports 1"),
        ("head", "{", "the record of its head is damaged"),
        ("r:l:s", '{"free": {"?": 1}, "finished": {}}', "'r:l:s' of its splits is damaged"),
        ("r:x:s", "{}", "'r:x:s' of its splits is damaged"),
    ):
        before = client.hget(STATE, field)
        client.hset(STATE, field, text)
        fresh = open_store(redis_server.url)
        with pytest.raises(UnreadableGroup, match=reason):
            await fresh.load_splits("g")
        await fresh.close()
        client.hset(STATE, field, before) if before else client.hdel(STATE, field)


async def test_a_redis_that_has_gone_back_is_noticed_until_a_commit_acts_upon_it(
    pair: tuple[Store, "Redis[str]"], redis_server: RedisServer
) -> None:
    store, _ = pair
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": create(GroupConfig(), 1)})
    raw: Redis[bytes] = Redis.from_url(redis_server.url)
    dumps = {key: raw.dump(key) for key in raw.keys("*:splits:*")}
    for number in (2, 3):
        assert await store.commit_splits(await store.load_splits("g"), {"s": create(GroupConfig(), number)})
    raw.delete(*raw.keys("*:splits:*"))
    for key, dump in dumps.items():
        raw.restore(key, 0, dump)
    raw.close()
    for _ in range(2):
        back = await store.load_splits("g")
        assert (back.lost, back.sources["s"].began_at) == (True, 1)
    assert await store.commit_splits(back, {"s": create(GroupConfig(), 4)})
    assert not (await store.load_splits("g")).lost
