"""A Redis that goes back in time while its connections stay open. It may be a failover to a replica
that lags and back, FLUSHALL and RESTORE, or two masters at once. No process believes what it
remembers of the lost history, with the cache of groups and without it.
"""

import asyncio
from dataclasses import replace

import pytest
from anyio import fail_after

from lockgate.group.group import Group, create
from lockgate.wire.events import (
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import StoreUnavailable
from lockgate_testbed.link import Link
from support.commits import CONFIG, Command, change, reports, seen_by
from support.replicated import Servers
from support.turns import evict

pytestmark = pytest.mark.redis


def removes(source: str) -> Command:
    def command(group: Group | None, now_ms: int) -> Group:
        assert group is not None
        return evict(group, source, 0)

    return command


async def test_failover_to_a_lagging_replica_and_back_is_noticed(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    remembers, waits = servers.store(), servers.store()
    await change(remembers, reports("slow", 100))
    servers.redis.promote_there()
    await change(remembers, reports("slow", 50_000))
    await change(remembers, reports("lost", 7))
    await seen_by(waits)
    await change(servers.store("there"), reports("fast", 1_000))
    connections = servers.redis.here.info("stats")["total_connections_received"]
    servers.redis.fail_back()
    truth = {"slow": 100, "fast": 1_000}
    assert await seen_by(waits) == truth
    await change(remembers, reports("fast", 1_001))
    assert await seen_by(remembers) == await seen_by(waits) == truth | {"fast": 1_001}
    # only the replica of old has connected since, for its own link
    assert servers.redis.here.info("stats")["total_connections_received"] - connections <= 1
    assert await seen_by(servers.store()) == truth | {"fast": 1_001}
    assert "group g: Redis has lost recent changes" in caplog.text


async def test_proxy_to_a_promoted_replica_brings_no_memory_along(servers: Servers) -> None:
    with Link(servers.redis.ports["here"]) as proxy:
        servers.redis.ports["behind the proxy"] = proxy.port
        remembers = servers.store("behind the proxy")
        await change(remembers, reports("slow", 100))
        servers.redis.promote_there()
        await change(remembers, reports("slow", 50_000))
        await change(remembers, reports("lost", 7))
        proxy.lead_to(servers.redis.ports["there"])
        await change(remembers, reports("fast", 1_000))
        assert await seen_by(remembers) == await seen_by(servers.store("there")) == {"slow": 100, "fast": 1_000}


async def test_flushall_and_restore_are_noticed_by_the_next_command(servers: Servers) -> None:
    remembers = servers.store()
    await change(remembers, reports("slow", 100))
    await change(remembers, reports("gone", 100))
    dumped = servers.redis.dump()
    await change(remembers, removes("gone"))
    await change(remembers, reports("slow", 50_000))
    servers.redis.put_back_in_time(dumped)
    await change(servers.store(), reports("fast", 1_000))
    await change(remembers, reports("fast", 1_001))
    truth = {"slow": 100, "gone": 100, "fast": 1_001}
    assert await seen_by(remembers) == truth
    assert await seen_by(servers.store()) == truth


async def test_a_commit_upon_the_same_version_of_another_history_is_refused(servers: Servers) -> None:
    """Where the clock was put back, versions go up by one, in both histories alike."""
    remembers = servers.store()
    ahead = replace(await remembers.load("g"), version=10**15)
    first = create("g", CONFIG, 1)
    servers.redis.here.hset("lockgate:{g}:state", "version", str(10**15))
    assert await remembers.commit(ahead, first) is None
    dumped = servers.redis.dump()
    mine = reports("slow", 50_000)(first, 1)
    assert await remembers.commit(await remembers.load("g"), mine) is None
    base = await remembers.load("g")
    servers.redis.put_back_in_time(dumped)
    other = servers.store()
    theirs = reports("slow", 100)(first, 1)
    assert await other.commit(await other.load("g"), theirs) is None
    assert (await other.load("g")).version == base.version
    instead = await remembers.commit(base, reports("fast", 1_000)(mine, 1))
    assert instead is not None
    assert instead.group == theirs
    assert await seen_by(remembers) == {"slow": 100}


async def test_under_hold_a_watermark_that_was_lost_is_not_written_back(servers: Servers) -> None:
    remembers, other = Coordinator(servers.store()), Coordinator(servers.store("there"))
    await reported(remembers, "slow", 100)
    servers.redis.promote_there()
    await reported(remembers, "slow", 50_000)
    await reported(other, "fast", 60_000)
    servers.redis.fail_back()
    event = await reported(remembers, "fast", 60_001)
    assert (event.group_watermark, event.max_desired_watermark) == (100, 1_100)
    assert (await seen_by(servers.store()))["slow"] == 100


async def reported(coordinator: Coordinator, source: str, watermark: int) -> WatermarkAlignmentEvent:
    """The answer to a report of a reader that registers first."""
    answer = await coordinator.register("g", source, ReaderRegistrationEvent(subtask=0, config=CONFIG))
    event = ReportedWatermarkEvent(subtask=0, epoch=answer.epoch, watermark=watermark)
    return await coordinator.report("g", source, event)


async def test_streams_that_heard_a_ceiling_of_a_lost_history_hear_the_true_one(servers: Servers) -> None:
    watched = Coordinator(servers.store())
    await reported(watched, "slow", 100)
    stream = await watched.follow("g", 0)
    servers.redis.promote_there()
    await reported(watched, "slow", 50_000)
    with fail_after(60):
        heard = await anext(stream)
        while heard is None or heard.max_desired_watermark != 51_000:
            heard = await anext(stream)
        servers.redis.fail_back()
        event = await anext(stream)
        while event is None:
            event = await anext(stream)
    assert event.max_desired_watermark == 1_100
    assert event.revision > heard.revision
    await stream.aclose()
    watched.end_waiting()


async def series_of(servers: Servers) -> str:
    return bytes(servers.redis.here.hget("lockgate:{g}:state", "mark") or b"").decode().partition("/")[2]


async def test_series_ends_with_a_foreign_commit_or_a_lost_answer(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, series = servers.store(), list[str]()
    for step in range(2):
        await change(store, reports("slow", step))
        series.append(await series_of(servers))
    await change(servers.store(), reports("fast", 1))
    await change(store, reports("slow", 3))
    series.append(await series_of(servers))
    with monkeypatch.context() as patched:
        patched.setattr(store._connections, "run", lost)  # type: ignore[attr-defined]
        loaded = store.cached("g") or await servers.store().load("g")
        with pytest.raises(StoreUnavailable):
            await store.commit(loaded, reports("slow", 4)(loaded.group, loaded.now_ms))
    await change(store, reports("slow", 5))
    series.append(await series_of(servers))
    assert series[0] == series[1]
    assert len(set(series[1:])) == 3


async def lost(*_: object, **__: object) -> object:
    raise StoreUnavailable("the answer was lost")


async def test_late_loads_let_no_series_go_on_after_a_lost_answer(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = servers.store()
    await change(store, reports("slow", 1))
    before, loaded = await series_of(servers), await store.load("g")
    asks = store._connections.run  # type: ignore[attr-defined]
    asked, released = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]

    async def late(*words: object, **options: object) -> object:
        which = 1 if asked[0].is_set() else 0
        answer = await asks(*words, **options)
        asked[which].set()
        await released[which].wait()
        return answer

    monkeypatch.setattr(store._connections, "run", late)  # type: ignore[attr-defined]
    loads = []
    for which in range(2):
        loads.append(asyncio.create_task(store.load("g")))
        await asked[which].wait()
    released[0].set()
    await loads[0]
    monkeypatch.setattr(store._connections, "run", lost)  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable):
        await store.commit(loaded, reports("slow", 2)(loaded.group, loaded.now_ms))
    released[1].set()
    await loads[1]
    monkeypatch.undo()
    await change(store, reports("slow", 3))
    assert await series_of(servers) != before
