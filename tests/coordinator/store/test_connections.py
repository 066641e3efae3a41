"""Redis as operators run it: behind TLS, with users, as a cluster, behind a Sentinel; and what is
said when it does not let us in.
"""

import re
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis

from lockgate.group.group import create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.store import Store, StoreUnavailable, open_store
from lockgate_testbed.redis import NO_PERSISTENCE, Certificates, RedisServer
from lockgate_testbed.redis_cluster import RedisCluster
from lockgate_testbed.redis_sentinel import SentinelledRedis
from support.mutual import Authority
from support.turns import evict, register

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


@asynccontextmanager
async def opened(address: str, **environment: str) -> AsyncIterator[Store]:
    store = open_store(address, environment)
    yield store
    await store.close()


async def live_through_all(store: Store, name: str = "g") -> None:
    """Everything that the service does with a store."""
    await store.ping()
    loaded = await store.load(name)
    group = create(name, GroupConfig(), loaded.now_ms, floor=loaded.version)
    assert await store.commit(loaded, group) is None
    loaded = await store.load(name)
    assert await store.commit(loaded, register(group, "a", ReaderRegistrationEvent(subtask=0), loaded.now_ms)) is None
    standing = await store.commit(loaded, group)
    assert standing is not None
    assert standing.group is not None
    assert await store.commit(standing, evict(standing.group, "a", 0)) is None
    assert await store.names("", 10) == [name]
    assert isinstance(await store.discard(name), int)


async def refusal(address: str, **environment: str) -> str:
    async with opened(address, **environment) as store:
        with pytest.raises(StoreUnavailable) as refused:
            await store.ping()
    assert "hunter2" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def guarded(redis_server: RedisServer) -> Iterator[RedisServer]:
    """A Redis of our own whose default user is off, with the user of docs/operations.md."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    (rule,) = re.findall(r"^redis-cli ACL SETUSER lockgate (.*)$", text, re.MULTILINE)
    user = ["--user", "lockgate", *shlex.split(rule.replace(">PASSWORD", ">hunter2"))]
    with RedisServer(options=(*NO_PERSISTENCE, *user, "--user", "default", "off")) as server:
        yield server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Authority(tmp_path_factory.mktemp("certificates") / "known").for_redis()


async def test_a_redis_behind_tls_is_reached_with_its_authority_alone(
    redis_server: RedisServer, certificates: Certificates
) -> None:
    with RedisServer(tls=certificates) as server:
        async with opened(server.url) as store:
            await live_through_all(store)
        assert "certificate verify failed" in await refusal(server.url.partition("?")[0])
        assert await refusal(f"redis://127.0.0.1:{server.port}")


@pytest.mark.long
async def test_a_cluster_behind_tls_is_reached_on_all_its_nodes(
    redis_server: RedisServer, certificates: Certificates
) -> None:
    with RedisCluster(certificates) as cluster:
        async with opened(cluster.url) as store:
            for index in range(20):
                loaded = await store.load(f"g{index}")
                assert await store.commit(loaded, create(loaded.name, GroupConfig(), loaded.now_ms)) is None
            await store.ping()
        for node in cluster.nodes:
            with Redis.from_url(node.url) as client:
                assert client.dbsize()
        assert "certificate verify failed" in await refusal(cluster.url.partition("?")[0])
        assert await refusal(cluster.url.partition("?")[0].replace("rediss", "redis"))


@pytest.mark.long
async def test_a_master_behind_tls_is_named_by_its_sentinel_over_tls(
    redis_server: RedisServer, certificates: Certificates
) -> None:
    with SentinelledRedis(certificates) as redis:
        async with opened(redis.url) as store:
            await live_through_all(store)
        for address in (redis.url.partition("?")[0], redis.url.partition("?")[0].replace("rediss", "redis")):
            assert "and their TLS" in await refusal(address)


async def test_redis_that_takes_no_certificate_is_told_by_the_option_to_set(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    known = Authority(tmp_path / "known")
    stranger = Authority(tmp_path / "stranger").issued("coordinator", "coordinator@example.org")
    expired = known.issued("coordinator", "coordinator@example.org", expired=True)
    with RedisServer(tls=known.for_redis(), options=(*NO_PERSISTENCE, "--tls-auth-clients", "yes")) as server:
        assert "Set ssl_certfile and ssl_keyfile in the address" in await refusal(server.url)
        for shown in (stranger, expired):
            own = f"&ssl_certfile={shown.certificate}&ssl_keyfile={shown.key}"
            assert "Set ssl_certfile and ssl_keyfile in the address" in await refusal(server.url + own)


async def test_renewed_certificates_are_taken_at_the_next_connection(redis_server: RedisServer, tmp_path: Path) -> None:
    known = Authority(tmp_path / "known")
    shown = known.issued("coordinator", "coordinator@example.org")
    with RedisServer(tls=known.for_redis(), options=(*NO_PERSISTENCE, "--tls-auth-clients", "yes")) as server:
        own = f"&ssl_certfile={shown.certificate}&ssl_keyfile={shown.key}"
        async with opened(server.url + own) as store:
            await live_through_all(store)
            renewed = Authority(tmp_path / "known")  # another authority, in the same files
            renewed.issued("coordinator", "coordinator@example.org")
            renewed.for_redis()
            server.stop()
            server.start()
            await store.ping()
            await live_through_all(store)


async def test_user_of_the_documentation_may_do_all_that_is_needed(guarded: RedisServer) -> None:
    address = f"redis://lockgate:hunter2@127.0.0.1:{guarded.port}"
    async with opened(address) as store:
        await live_through_all(store)
        assert await store.dangers() == []
    async with opened(f"redis://lockgate@127.0.0.1:{guarded.port}", LOCKGATE_REDIS_PASSWORD="hunter2") as store:
        await live_through_all(store)


async def test_credentials_that_are_refused_are_told_where_to_be_mended(guarded: RedisServer) -> None:
    here = f"127.0.0.1:{guarded.port}"
    assert "LOCKGATE_REDIS_PASSWORD" in await refusal(f"redis://{here}")
    assert "LOCKGATE_REDIS_PASSWORD" in await refusal(f"redis://lockgate:hunter22@{here}")


async def test_a_user_who_may_too_little_is_sent_to_the_list_of_commands(redis_server: RedisServer) -> None:
    narrow = ["--user", "narrow", "on", ">hunter2", "~lockgate:*", "+@all", "-evalsha", "-eval"]
    with RedisServer(options=(*NO_PERSISTENCE, *narrow)) as server:
        assert "docs/operations.md" in await refusal(f"redis://narrow:hunter2@127.0.0.1:{server.port}")


async def test_each_form_of_redis_is_told_from_the_others(
    redis_server: RedisServer, redis_cluster: RedisCluster
) -> None:
    assert "redis+cluster://" in await refusal(f"redis://127.0.0.1:{redis_cluster.nodes[0].port}")
    assert "redis://" in await refusal(f"redis+cluster://127.0.0.1:{redis_server.port}")
    assert "no Sentinel" in await refusal(f"redis+sentinel://127.0.0.1:{redis_server.port}/s")


async def test_a_node_of_a_cluster_that_is_new_is_given_the_scripts(redis_cluster: RedisCluster) -> None:
    redis_cluster.flush()
    async with opened(redis_cluster.url) as store:
        await live_through_all(store)
        for node in redis_cluster.nodes:
            with Redis(port=node.port) as client:
                client.script_flush()
        await live_through_all(store)


async def test_a_redis_that_is_not_there_is_named_without_its_password() -> None:
    for address in (
        "redis://u:hunter2@127.0.0.1:1/0",
        "redis+cluster://u:hunter2@127.0.0.1:1",
        "redis+sentinel://u:hunter2@127.0.0.1:1/s",
    ):
        assert "127.0.0.1:1" in await refusal(address)
