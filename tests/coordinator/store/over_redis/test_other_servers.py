"""Another server of Redis than the one that accepted the last commit, as after a failover or a
restart. It may lack later commits, and a coordinator that has started since remembers none.
"""

import pytest

from coordinator.store.test_splits_contract import full, group
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate.wire.split_events import SourceEventToReaders, SplitExchange, SplitList
from lockgate_coordinator.service.coordinator import Coordinator
from support.commits import change, reports
from support.replicated import Servers

pytestmark = pytest.mark.redis

CONFIG = GroupConfig(update_interval_ms=100, lease_ms=60_000)


async def test_a_promotion_shows_until_a_commit_even_to_a_new_process(servers: Servers) -> None:
    store = servers.store()
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    assert not (await store.load_splits("g")).lost
    servers.redis.promote_there()
    new, another = (servers.store("there") for _ in range(2))
    for _ in range(2):
        found = await new.load_splits("g")
        assert (found.lost, found.sources) == (True, {"s": full()})
    assert (await another.load_splits("g")).lost
    assert await new.commit_splits(found, found.sources)
    assert not (await new.load_splits("g")).lost
    assert not (await another.load_splits("g")).lost


async def test_a_server_that_was_a_replica_for_a_while_is_another_one(servers: Servers) -> None:
    store = servers.store()
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    servers.redis.promote_there()
    servers.redis.fail_back()
    assert (await servers.store().load_splits("g")).lost


async def test_a_commit_that_reaches_another_server_is_refused_once(servers: Servers) -> None:
    store = servers.store()
    await change(store, reports("slow", 100))
    cached = store.cached("g")
    assert cached is not None
    assert cached.group is not None
    servers.redis.promote_there()
    servers.redis.fail_back()
    instead = await store.commit(cached, cached.group)
    assert instead is not None
    assert (instead.lost, instead.group) == (True, cached.group)
    assert await store.commit(instead, cached.group) is None


@pytest.mark.parametrize("denied", [("here",), ("there",), ("here", "there")])
async def test_servers_that_allow_no_info_are_not_told_apart(servers: Servers, denied: tuple[str, ...]) -> None:
    for each in denied:
        getattr(servers.redis, each).acl_setuser("default", enabled=True, commands=["-info"], reset=False)
    store = servers.store()
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    servers.redis.promote_there()
    assert not (await servers.store("there").load_splits("g")).lost


@pytest.mark.parametrize("first", ["exchange", "list", "source event", "leave"])
async def test_the_first_command_begins_a_new_history_of_every_source(servers: Servers, first: str) -> None:
    here = Coordinator(servers.store())
    epochs = dict[str, int]()
    for source in ("a", "b"):
        event = ReaderRegistrationEvent(subtask=0, config=CONFIG)
        epochs[source] = (await here.register("g", source, event)).epoch
        await here.put_list("g", source, SplitList(splits=(KafkaPartitionSplit(source, 0, 7),)))
        await here.exchange("g", source, 0, SplitExchange(epoch=epochs[source]))
    before = await here.enumerators.loaded("g")
    servers.redis.promote_there()
    there = Coordinator(servers.store("there"))
    if first == "exchange":
        answer = await there.exchange("g", "a", 0, SplitExchange(epoch=epochs["a"]))
        assert answer.assigning_in_ms > 59_000
    elif first == "list":
        await there.put_list("g", "a", SplitList(splits=(KafkaPartitionSplit("a", 1, 7),)))
    elif first == "source event":
        await there.mail("g", "a", SourceEventToReaders(event={"x": 1}))
    else:
        await there.leave("g", "a", 0, epochs["a"])
    after = await there.enumerators.loaded("g")
    for source in ("a", "b"):
        then, now = before.sources[source], after.sources[source]
        assert now.lost_history
        assert now.began_at > then.began_at
        assert now.assigning_at >= now.began_at + CONFIG.lease_ms
