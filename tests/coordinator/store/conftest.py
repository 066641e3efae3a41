"""The stores that pass the contract: memory, one Redis, and a Redis Cluster."""

from collections.abc import Iterator

import pytest
from redis import Redis

from lockgate_coordinator.store import states
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.redis_cluster import RedisCluster


@pytest.fixture(autouse=True)
def cached_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a cached time be off by a minute. The default is 50 ms, and a busy machine may pause for
    longer than that before a commit.
    """
    monkeypatch.setattr(states, "CACHED_WITHIN_MS", 60_000)


@pytest.fixture(scope="session")
def redis_cluster(redis_server: RedisServer) -> Iterator[RedisCluster]:
    """Yield a cluster for all tests of the stores; `redis_server` says what is missing where there
    is no Redis at all.
    """
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture(
    params=[
        "memory",
        pytest.param("redis", marks=pytest.mark.redis),
        pytest.param("cluster", marks=pytest.mark.redis),
    ]
)
def store_address(request: pytest.FixtureRequest) -> str:
    """Return the address of an empty store of each kind."""
    if request.param == "memory":
        return "memory://"
    if request.param == "cluster":
        cluster: RedisCluster = request.getfixturevalue("redis_cluster")
        cluster.flush()
        return cluster.url
    url: str = request.getfixturevalue("redis_server").url
    with Redis.from_url(url) as client:
        client.flushall()
    return url
