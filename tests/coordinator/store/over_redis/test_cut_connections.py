"""A connection to Redis that is cut, or answers by an error, while a store uses it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from lockgate.group.group import Group, create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.store import Store, StoreUnavailable, open_store
from lockgate_testbed.redis import RedisServer
from support.turns import register

pytestmark = pytest.mark.redis

EVERYTHING_IS_TOO_MUCH = "1"


@pytest.fixture
def server(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Yield a Redis of the test's own: whether there is any is the shared one's matter."""
    assert redis_server.pid
    with RedisServer() as own:
        yield own


@pytest.fixture
async def operator(server: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url, decode_responses=True) as client:
        yield client


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[Store]:
    """With an empty group, `g`, which it knows."""
    opened = open_store(server.url)
    loaded = await opened.load("g")
    assert await opened.commit(loaded, create("g", GroupConfig(), loaded.now_ms)) is None
    yield opened
    await opened.close()


async def joined(store: Store, subtask: int) -> Group:
    """Return what the store was told: one reader more."""
    loaded = await store.load("g")
    assert loaded.group is not None
    group = register(loaded.group, "a", ReaderRegistrationEvent(subtask=subtask), loaded.now_ms)
    assert await store.commit(loaded, group) is None
    return group


async def connections(operator: Redis) -> set[str]:
    """Return the ids of all connections but the operator's own."""
    own = str(await operator.client_id())
    return {client["id"] for client in await operator.client_list()} - {own}


async def test_command_over_a_cut_connection_succeeds(store: Store, operator: Redis) -> None:
    for subtask in range(3):
        await operator.client_kill_filter(_type="normal", skipme=True)
        group = await joined(store, subtask)
    assert (await store.load("g")).group == group


async def test_command_whose_connection_is_cut_before_the_answer_succeeds(store: Store, operator: Redis) -> None:
    await operator.client_pause(60_000, all=False)
    asked = asyncio.ensure_future(joined(store, 0))
    while not (stuck := [client["id"] for client in await operator.client_list() if "b" in client["flags"]]):
        assert not asked.done(), "it was answered although Redis stands still"
    await operator.client_kill_filter(_id=stuck[0])
    await operator.client_unpause()
    group = await asked
    assert (await store.load("g")).group == group


async def test_error_of_redis_keeps_its_text_and_the_connection(store: Store, operator: Redis) -> None:
    await joined(store, 0)
    before = await connections(operator)
    await operator.config_set("maxmemory", EVERYTHING_IS_TOO_MUCH)
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        await joined(store, 1)
    await operator.config_set("maxmemory", 0)
    assert set((await joined(store, 1)).readers) == {("a", 0), ("a", 1)}
    assert await connections(operator) == before


async def test_connection_to_a_master_turned_replica_is_closed(store: Store, operator: Redis) -> None:
    await joined(store, 0)
    await operator.replicaof("127.0.0.1", "1")
    before = await connections(operator)
    with pytest.raises(StoreUnavailable, match="It is a replica"):
        await joined(store, 1)
    assert before - await connections(operator)
    await operator.replicaof("NO", "ONE")
    assert set((await joined(store, 1)).readers) == {("a", 0), ("a", 1)}


async def test_script_that_redis_has_forgotten_is_sent_again(store: Store, operator: Redis) -> None:
    await operator.script_flush()
    group = await joined(store, 0)
    assert (await store.load("g")).group == group
