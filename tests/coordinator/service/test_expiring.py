"""The removal of what has expired, over both stores: groups whose times lie in the past."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from lockgate.group.expiry import Expiry
from lockgate.group.group import Group, configured, create
from lockgate.wire.events import GroupConfig, OnLostReader, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service import expiring
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.expiring import keep_removing, remove_expired
from lockgate_coordinator.store import Store, keys, open_store
from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.metrics import Metrics
from lockgate_testbed.redis import RedisServer
from support.turns import register, report

HOUR_MS = 3_600_000
EXPIRY = Expiry(readers_ms=HOUR_MS, groups_ms=HOUR_MS)


def with_reader(group: Group, source: str, now_ms: int) -> Group:
    group = register(group, source, ReaderRegistrationEvent(subtask=0, owner="o"), now_ms)
    event = ReportedWatermarkEvent(subtask=0, epoch=group.readers[source, 0].epoch, watermark=5)
    return report(group, source, event, now_ms)


async def stored(store: Store, name: str, *sources: tuple[str, int], config: GroupConfig | None = None) -> None:
    """A group whose readers were heard so many ms ago."""
    loaded = await store.load(name)
    group = create(name, config or GroupConfig(), loaded.now_ms - 9 * HOUR_MS)
    for source, ago_ms in sources:
        group = with_reader(group, source, group.created_at)
        reader = group.readers[source, 0]._replace(heard_at=loaded.now_ms - ago_ms)
        group = replace(group, readers=group.readers.updated({(source, 0): reader}))
    if sources:
        group = replace(group, heard_at=max(reader.heard_at for reader in group.readers.values()))
    assert await store.commit(loaded, group) is None


@pytest.fixture
def metrics(store: Store) -> Metrics:
    return Metrics(store)


@pytest.fixture
def coordinator(metrics: Metrics) -> Coordinator:
    return Coordinator(metrics.store, [metrics.journal])


async def test_dead_groups_and_readers_go_and_all_others_stay(coordinator: Coordinator, store: Store) -> None:
    await stored(store, "dead", ("a", 8 * HOUR_MS))
    await stored(store, "empty")
    await stored(store, "half", ("a", 8 * HOUR_MS), ("b", 0))
    await stored(store, "held", ("a", 8 * HOUR_MS), config=GroupConfig(on_lost_reader=OnLostReader.HOLD))
    await stored(store, "young", ("a", HOUR_MS // 2))
    loaded = await store.load("operator")
    group = configured(create("operator", GroupConfig(), 1), GroupConfig(), 1)
    assert await store.commit(loaded, group) is None
    await remove_expired(coordinator, EXPIRY)
    assert await store.names("", 9) == ["half", "held", "operator", "young"]
    half = (await store.load("half")).group
    assert half is not None
    assert list(half.readers) == [("b", 0)]


async def test_a_group_that_is_heard_between_the_look_and_the_delete_stays(
    coordinator: Coordinator, metrics: Metrics, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(store, "g", ("a", 8 * HOUR_MS))
    discard = metrics.store.discard

    async def later(name: str, **more: Any) -> object:
        now = await store.load("g")
        assert now.group is not None
        assert await store.commit(now, with_reader(now.group, "a", now.now_ms)) is None
        return await discard(name, **more)

    monkeypatch.setattr(metrics.store, "discard", later)
    await remove_expired(coordinator, EXPIRY)
    assert await store.names("", 9) == ["g"]


async def test_each_removal_is_a_line_of_the_log_and_is_counted(
    coordinator: Coordinator, metrics: Metrics, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(store, "dead", ("a", 8 * HOUR_MS))
    await stored(store, "half", ("a", 8 * HOUR_MS), ("b", 0))
    caplog.set_level(logging.INFO, "lockgate.changes")
    await remove_expired(coordinator, EXPIRY)
    lines = [vars(record)["fields"] for record in caplog.records if "expired" in record.getMessage()]
    assert [(line["event"], line["group"], line.get("source")) for line in lines] == [
        ("group_expired", "dead", None),
        ("reader_expired", "half", "a"),
    ]
    assert lines[0]["readers"] == 1
    assert lines[1]["silent_ms"] >= 8 * HOUR_MS
    assert {kind.value: count for kind, count in metrics.journal.counts.items() if "expired" in kind.value} == {
        "group_expired": 1,
        "reader_expired": 1,
    }


@pytest.mark.redis
async def test_unreadable_group_keeps_no_other_from_expiring(redis_server: RedisServer) -> None:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
        store = open_store(redis_server.url)
        for name in ("a", "b", "c"):
            await stored(store, name, ("s", 8 * HOUR_MS))
        client.hset(keys.state("b"), "head", "{")
        client.hincrby(keys.state("b"), "version", 1)
        await remove_expired(Coordinator(store), EXPIRY)
        assert await store.names("", 9) == ["b"]
        await store.close()
        client.flushall()


@pytest.mark.redis
async def test_two_coordinators_remove_and_log_each_once(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
    caplog.set_level(logging.INFO, "lockgate.changes")
    both = [Metrics(open_store(redis_server.url)) for _ in range(2)]
    for number in range(30):
        await stored(both[0].store, f"dead-{number}", ("a", 8 * HOUR_MS))
        await stored(both[0].store, f"half-{number}", ("gone", 8 * HOUR_MS), ("lives", 0))
    await asyncio.gather(*(remove_expired(Coordinator(each.store, [each.journal]), EXPIRY) for each in both))
    assert await both[0].store.names("", 99) == sorted(f"half-{number}" for number in range(30))
    lines = [vars(record)["fields"] for record in caplog.records if "expired" in record.getMessage()]
    assert len(lines) == len({(line["event"], line["group"]) for line in lines}) == 60
    for kind in (Kind.GROUP_EXPIRED, Kind.EXPIRED):
        assert sum(each.journal.counts[kind] for each in both) == 30
    for each in both:
        await each.store.close()


async def test_expired_groups_are_removed_in_each_round(
    coordinator: Coordinator, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "PAUSE_S", 0.001)
    removing = asyncio.create_task(keep_removing(coordinator, EXPIRY))
    for name in ("first", "second"):
        await stored(store, name, ("a", 8 * HOUR_MS))
        while await store.names("", 9):
            assert not removing.done()
            await asyncio.sleep(0)
    removing.cancel()
