"""Stores over one Redis, with the fast parts and without."""

from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest
from redis import Redis

from lockgate_coordinator.fast.switches import PLAIN, Fast
from lockgate_coordinator.store import Store, open_store
from lockgate_testbed.redis import RedisServer


@pytest.fixture(params=[Fast(), PLAIN], ids=["fast", "plain"])
def fast(request: pytest.FixtureRequest) -> Fast:
    parts: Fast = request.param
    return parts


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[Redis]:
    """The server itself, empty."""
    with closing(Redis.from_url(redis_server.url, decode_responses=True)) as client:
        client.flushall()
        yield client
        client.flushall()


@pytest.fixture
async def store(redis: Redis, redis_server: RedisServer, fast: Fast) -> AsyncIterator[Store]:
    opened = open_store(redis_server.url, fast=fast)
    yield opened
    await opened.close()
