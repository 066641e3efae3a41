import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import replace
from typing import TypeVar

import pytest

from lockgate.watermark import MAX
from lockgate.wire.events import (
    GroupConfig,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from lockgate_coordinator.service import announcer
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import Loaded, MemoryStore, StoreUnavailable
from lockgate_coordinator.store.connections import TIMEOUT_S

T = TypeVar("T")


class Leaving(MemoryStore):
    """A memory store that can be unavailable."""

    away = False

    def cached(self, name: str) -> Loaded:
        if self.away:
            raise StoreUnavailable("away")
        return super().cached(name)


def soon(waited: Awaitable[T]) -> Awaitable[T]:
    return asyncio.wait_for(waited, 60)


async def following(coordinator: Coordinator, after: int = -1) -> AsyncGenerator[WatermarkAlignmentEvent | None, None]:
    return await coordinator.follow("g", after)


@pytest.fixture
async def store() -> Leaving:
    return Leaving()


@pytest.fixture
async def coordinator(store: Leaving) -> AsyncIterator[Coordinator]:
    opened = Coordinator(store)
    await configured(opened, 1)
    yield opened
    await opened.close()


async def configured(coordinator: Coordinator, sources: int) -> int:
    """Changes the event, and returns its revision: the ceiling depends on whether a source is
    expected.
    """
    expected = ("a",) if sources % 2 else ()
    await coordinator.configure("g", GroupConfig(expected_sources=expected))
    return (await coordinator.refresh("g")).event.revision


async def test_busy_follower_gets_the_newest_event_only(
    coordinator: Coordinator,
) -> None:
    events = await following(coordinator)
    await soon(anext(events))
    for changes in range(2, 7):
        newest = await configured(coordinator, changes)
    event = await soon(anext(events))
    assert event is not None
    assert event.revision == newest
    waiting = asyncio.ensure_future(anext(events))
    assert not (await asyncio.wait([waiting], timeout=0))[0]
    waiting.cancel()


async def test_a_follower_of_an_unchanged_group_gets_heartbeats(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcer, "HEARTBEAT_S", 0.02)
    events = await following(coordinator, (await coordinator.refresh("g")).event.revision)
    assert [await soon(anext(events)) for _ in range(3)] == [None] * 3


def test_heartbeats_are_as_often_as_promised() -> None:
    assert announcer.HEARTBEAT_S + announcer.LOOK_AGAIN_S + TIMEOUT_S < 15


async def test_a_poll_sees_the_end_of_a_lease_at_once_although_no_command_comes(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcer, "HEARTBEAT_S", 3_600.0)  # no other look comes in time
    await coordinator.configure("g", GroupConfig(lease_ms=200))
    epoch = (await coordinator.register("g", "a", ReaderRegistrationEvent(subtask=0))).epoch
    before = await coordinator.report("g", "a", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5))
    after = await soon(coordinator.wait("g", before.revision, 3_600_000))
    assert after is not None
    assert (before.group_watermark, after.group_watermark) == (5, MAX)


async def test_an_older_outcome_that_comes_late_does_not_replace_the_newest(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcer, "HEARTBEAT_S", 3_600.0)  # no other look brings the newest again
    older = await coordinator.refresh("g")
    events = await following(coordinator)
    await soon(anext(events))
    newest = await configured(coordinator, 2)
    coordinator.announcer.turned(older)
    assert coordinator.announcer._watches["g"].newest is not None
    event = await asyncio.wait_for(anext(events), 20)
    assert event is not None
    assert event.revision == newest


async def test_an_unavailable_store_ends_every_poll_but_no_stream(
    coordinator: Coordinator, store: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcer, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(announcer, "LOOK_AGAIN_S", 0.02)
    revision = (await coordinator.refresh("g")).event.revision
    events = await following(coordinator, revision)
    poll = asyncio.ensure_future(coordinator.wait("g", revision, 60_000))
    await soon(anext(events))
    store.away = True
    with pytest.raises(StoreUnavailable):
        await soon(poll)
    store.away = False
    newest = await configured(coordinator, 2)
    while (event := await soon(anext(events))) is None:
        pass
    assert event.revision == newest


async def test_a_record_that_cannot_be_read_ends_no_stream_and_is_logged_once(
    coordinator: Coordinator, store: Leaving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(announcer, "LOOK_AGAIN_S", 0.01)
    events = await following(coordinator)
    await soon(anext(events))
    poll = asyncio.ensure_future(coordinator.wait("g", (await coordinator.refresh("g")).event.revision, 60_000))
    waiting = asyncio.ensure_future(anext(events))
    while coordinator.announcer.watchers < 2:
        await asyncio.sleep(0)
    kept = store._groups["g"]
    # no version of the service writes such a record
    store._groups["g"] = replace(kept, readers=None)  # type: ignore[arg-type]
    coordinator.announcer.deleted("g", 0, expired=False)  # look now
    with pytest.raises((AttributeError, TypeError)):
        await soon(poll)
    store._groups["g"] = kept
    newest = await configured(coordinator, 2)
    event = await soon(waiting)
    assert event is not None
    assert (event.revision, caplog.text.count("cannot compute the alignment of group")) == (newest, 1)


async def test_streams_end_with_their_group_and_with_the_service(coordinator: Coordinator) -> None:
    events = await following(coordinator)
    await soon(anext(events))
    await coordinator.delete("g")
    with pytest.raises(StopAsyncIteration):
        await soon(anext(events))
    await configured(coordinator, 1)
    again = await following(coordinator)
    await soon(anext(again))
    coordinator.end_waiting()
    with pytest.raises(StopAsyncIteration):
        await soon(anext(again))


async def test_a_deleted_group_is_freed_without_the_garbage_collector(coordinator: Coordinator) -> None:
    """The service collects garbage seldom."""
    gc.collect()
    gc.disable()
    try:
        events = await following(coordinator)
        await soon(anext(events))
        task = coordinator.announcer._watches["g"].follower
        assert task is not None
        follower = weakref.ref(task)
        await coordinator.delete("g")
        with pytest.raises(StopAsyncIteration):
            await soon(anext(events))
        del events, task
        await asyncio.sleep(0)
        assert follower() is None
    finally:
        gc.enable()


async def test_a_follower_that_stops_is_forgotten(coordinator: Coordinator) -> None:
    events = await following(coordinator)
    await soon(anext(events))
    assert coordinator.announcer.watchers == 1
    await events.aclose()
    assert coordinator.announcer.watchers == 0
    assert coordinator.announcer._watches == {}
