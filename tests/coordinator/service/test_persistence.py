"""A commit that others keep overtaking reserves its group, and is given up after some time."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate.wire.events import ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate.wire.split_events import SplitExchange
from lockgate_coordinator.service import persistence
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import Loaded, MemoryStore, StoreUnavailable
from lockgate_coordinator.store.base import LoadedSplits

Act = Callable[[Coordinator, int], Awaitable[object]]


class FarStore(MemoryStore):
    """A memory store in which another process is faster with each commit, or each one of splits,
    unless this one has reserved it. `reserved`: for how long each attempt would.
    """

    overtaken = overtaken_splits = False
    yields = True

    def __init__(self) -> None:
        super().__init__()
        self.reserved = list[int]()
        self._next_is_mine = False

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        if self.overtaken and self._overtakes(reserve_ms):
            self._versions[loaded.name] = loaded.next_version
        return await super().commit(loaded, group, reserve_ms)

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        if self.overtaken_splits and self._overtakes(reserve_ms):
            self._splits[loaded.name] = (loaded.next_version, loaded.sources)
        return await super().commit_splits(loaded, sources, reserve_ms)

    def _overtakes(self, reserve_ms: int) -> bool:
        self.reserved.append(reserve_ms)
        overtakes, self._next_is_mine = not self._next_is_mine, self.yields and reserve_ms > 0
        return overtakes


async def report(coordinator: Coordinator, epoch: int) -> object:
    event = ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5)
    return await coordinator.report("g", "s", event)


async def exchange(coordinator: Coordinator, epoch: int) -> object:
    return await coordinator.exchange("g", "s", 0, SplitExchange(epoch=epoch))


@pytest.fixture(params=[report, exchange])
def act(request: pytest.FixtureRequest) -> Act:
    chosen: Act = request.param
    return chosen


async def overtaken(act: Act) -> tuple[FarStore, Coordinator, int]:
    """Return a coordinator with a reader, and its epoch. All that it commits next is overtaken."""
    store = FarStore()
    coordinator = Coordinator(store)
    epoch = (await coordinator.register("g", "s", ReaderRegistrationEvent(subtask=0))).epoch
    store.overtaken, store.overtaken_splits = act is report, act is exchange
    return store, coordinator, epoch


async def test_a_commit_gets_through_by_a_reservation_after_a_few_refusals(act: Act) -> None:
    store, coordinator, epoch = await overtaken(act)
    await act(coordinator, epoch)
    attempts = [reserve_ms > 0 for reserve_ms in store.reserved]
    assert attempts == [False] * persistence.REFUSALS + [True, True]
    await coordinator.ready()


async def test_commit_that_never_gets_through_makes_process_unready(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    store, coordinator, epoch = await overtaken(act)
    store.yields = False
    monkeypatch.setattr(persistence, "WITHIN_S", 0.02)
    with pytest.raises(StoreUnavailable, match="kept changing"):
        await act(coordinator, epoch)
    with pytest.raises(StoreUnavailable, match="too far from Redis"):
        await coordinator.ready()

    store.overtaken = store.overtaken_splits = False
    await act(coordinator, epoch)
    await coordinator.ready()


async def test_a_process_without_commits_is_ready_again_after_some_time(
    act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, coordinator, epoch = await overtaken(act)
    store.yields = False
    monkeypatch.setattr(persistence, "WITHIN_S", 0.02)
    with pytest.raises(StoreUnavailable):
        await act(coordinator, epoch)
    monkeypatch.setattr(persistence, "UNREADY_S", 0.0)
    await coordinator.ready()
