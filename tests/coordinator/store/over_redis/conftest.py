"""Stores over one Redis."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing

import pytest
from redis import Redis

from lockgate_coordinator.store import Store, open_store
from lockgate_testbed.redis import RedisServer
from support.replicated import Servers, replicated


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[Redis]:
    """Yield the server itself, empty."""
    with closing(Redis.from_url(redis_server.url, decode_responses=True)) as client:
        client.flushall()
        yield client
        client.flushall()


@pytest.fixture
async def store(redis: Redis, redis_server: RedisServer) -> AsyncIterator[Store]:
    opened = open_store(redis_server.url)
    yield opened
    await opened.close()


@pytest.fixture
async def servers(redis_server: RedisServer) -> AsyncIterator[Servers]:
    with replicated() as redis:
        async with AsyncExitStack() as opened:
            yield Servers(redis, opened)
