"""What of a store's own settings may lose groups: Redis's eviction policy, of each node, as far as
the user may ask.
"""

from contextlib import closing

import pytest
from redis import Redis

from lockgate_coordinator.store import MemoryStore, open_store
from lockgate_testbed.redis import NO_PERSISTENCE, RedisServer
from lockgate_testbed.redis_cluster import RedisCluster

REFUSED = ("--user", "lockgate", "on", ">hunter2", "~lockgate:*", "+@all", "-info")


async def test_groups_in_memory_are_in_no_danger() -> None:
    assert await MemoryStore().dangers() == []


@pytest.mark.redis
async def test_one_node_of_a_cluster_that_may_delete_groups_is_enough(redis_cluster: RedisCluster) -> None:
    store = open_store(redis_cluster.url)
    with closing(Redis.from_url(redis_cluster.nodes[-1].url)) as node:
        assert await store.dangers() == []
        node.config_set("maxmemory-policy", "allkeys-lfu")
        try:
            (danger,) = await store.dangers() or []
            assert "maxmemory-policy allkeys-lfu" in danger
        finally:
            node.config_set("maxmemory-policy", "noeviction")
        assert await store.dangers() == []
    await store.close()


@pytest.mark.redis
async def test_a_redis_whose_user_may_not_ask_is_not_asked_again() -> None:
    with RedisServer(options=(*NO_PERSISTENCE, *REFUSED)) as server, closing(Redis.from_url(server.url)) as operator:
        store = open_store(f"redis://lockgate:hunter2@127.0.0.1:{server.port}")
        assert [await store.dangers() for _ in range(3)] == [None] * 3
        assert [entry["count"] for entry in operator.acl_log()] == [1]
        await store.ping()
        await store.close()


@pytest.mark.redis
async def test_a_redis_that_is_away_tells_nothing_and_is_asked_again() -> None:
    with RedisServer() as server:
        store = open_store(server.url)
        server.stop()
        assert await store.dangers() is None
        server.start()
        assert await store.dangers() == []
        await store.close()
