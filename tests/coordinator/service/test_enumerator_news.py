"""The stream of one reader: what changes here, and at another process over the same store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from unittest.mock import AsyncMock

import pytest

from lockgate.enumerator.model import Enumerator
from lockgate.errors import StaleEpoch
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate.wire.split_events import SplitExchange, SplitList
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import Store, UnreadableGroup, open_store

CONFIG = GroupConfig(update_interval_ms=20, lease_ms=60_000)
SPLITS = SplitList(splits=(KafkaPartitionSplit("orders", 0, 7),))


@pytest.fixture
async def here(store: Store) -> AsyncIterator[Coordinator]:
    coordinator = Coordinator(store)
    yield coordinator
    await coordinator.close()


async def joined(coordinator: Coordinator) -> int:
    event = ReaderRegistrationEvent(subtask=0, config=CONFIG)
    return (await coordinator.register("g", "s", event)).epoch


async def until_listed(coordinator: Coordinator, epoch: int) -> Enumerator:
    """Return the first news in which the source has a split."""
    async with aclosing(await coordinator.follow_splits("g", "s", 0, epoch)) as news:
        async for each in news:
            if isinstance(each, Enumerator) and each.count():
                return each
    raise AssertionError("the stream has ended")


async def test_a_list_reaches_the_stream_whichever_process_takes_it(
    here: Coordinator, store: Store, store_address: str
) -> None:
    epoch = await joined(here)
    waiting = asyncio.create_task(until_listed(here, epoch))
    other = Coordinator(open_store(store_address)) if store.shared else here
    await other.put_list("g", "s", SPLITS)

    assert list((await waiting).ids()) == ["orders-0"]
    if other is not here:
        await other.close()


async def test_stream_of_older_epoch_ends_with_first_exchange_of_newer(here: Coordinator) -> None:
    old = await joined(here)
    stream = await here.follow_splits("g", "s", 0, old)

    async def last() -> None:
        async with aclosing(stream):
            async for _ in stream:
                pass

    ended = asyncio.create_task(last())
    new = await joined(here)
    await here.exchange("g", "s", 0, SplitExchange(epoch=new))
    await ended
    with pytest.raises(StaleEpoch):
        await here.follow_splits("g", "s", 0, old)


async def test_the_stream_ends_with_its_group(here: Coordinator) -> None:
    stream = await here.follow_splits("g", "s", 0, await joined(here))
    async with aclosing(stream):
        await anext(stream)
        await here.delete("g")
        assert [each async for each in stream if isinstance(each, Enumerator)] == []


async def test_a_poll_goes_on_while_splits_cannot_be_read(here: Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    async with aclosing(await here.follow_splits("g", "s", 0, await joined(here))) as stream:
        await anext(stream)
        before = (await here.refresh("g")).event.revision
        unreadable = AsyncMock(side_effect=UnreadableGroup("g", "test", "Delete it"))
        monkeypatch.setattr(here.store, "load_splits", unreadable)
        poll = asyncio.create_task(here.wait("g", before, 60_000))
        while not unreadable.await_count:
            here.announcer.deleted("g", 0, expired=False)  # look now
            await asyncio.sleep(0)
        await here.configure("g", GroupConfig(expected_sources=("other",)))
        event = await poll
        assert event is not None
        assert event.revision > before
