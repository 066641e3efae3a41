import asyncio
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from lockgate.errors import StaleEpoch
from lockgate.group.commands import Configure, Progress, Refresh
from lockgate.group.group import Group
from lockgate.group.turn import Turn
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.listeners import Listeners, TurnListener
from lockgate_coordinator.service.commit_queue import CommitQueue
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import Loaded, MemoryStore, Store, open_store, states


class CountingStore(MemoryStore):
    """A memory store that counts commits, and answers as late as a shared store does."""

    shared = True
    commits = 0

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        self.commits += 1
        await asyncio.sleep(0)
        return await super().commit(loaded, group, reserve_ms)


async def registered(coordinator: Coordinator, readers: int) -> list[ReportedWatermarkEvent]:
    """Register so many readers. Returns a first report of each."""
    registrations = [ReaderRegistrationEvent(subtask=subtask) for subtask in range(readers)]
    answers = await asyncio.gather(*(coordinator.register("g", "a", event) for event in registrations))
    return [
        ReportedWatermarkEvent(subtask=answer.subtask, epoch=answer.epoch, watermark=100 + answer.subtask)
        for answer in answers
    ]


async def test_commands_that_come_together_share_one_commit_and_answer() -> None:
    store = CountingStore()
    coordinator = Coordinator(store)
    reports = await registered(coordinator, 50)
    assert store.commits == 1
    events = await asyncio.gather(*(coordinator.report("g", "a", report) for report in reversed(reports)))
    assert store.commits == 2
    assert {event.group_watermark for event in events} == {100}


class HeldStore(CountingStore):
    """Commits once it is `free`. `begun` is set while a commit waits for that."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.free = asyncio.Event(), asyncio.Event()
        self.free.set()

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        self.begun.set()
        await self.free.wait()
        return await super().commit(loaded, group, reserve_ms)


async def test_turn_of_a_shared_store_waits_for_those_just_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate_coordinator.service.commit_queue.PAUSE_S", 60.0)
    store = HeldStore()
    coordinator = Coordinator(store)
    reports = await registered(coordinator, 4)
    store.commits = 0
    store.begun.clear()
    store.free.clear()

    async def twice(report: ReportedWatermarkEvent) -> None:
        await coordinator.report("g", "a", report)
        for _ in range(20):  # further away than the next event-loop iteration
            await asyncio.sleep(0)
        await coordinator.report("g", "a", replace(report, watermark=report.watermark + 100))

    callers = [asyncio.create_task(twice(report)) for report in reports[:2]]
    await store.begun.wait()
    callers += [asyncio.create_task(twice(report)) for report in reports[2:]]
    await asyncio.sleep(0)
    store.free.set()
    await asyncio.wait_for(asyncio.gather(*callers), 30)
    assert store.commits == 3, "the first two; the second two with the first two again; the second two again"


async def test_looking_commits_nothing_while_nothing_changes(store: Store) -> None:
    coordinator = Coordinator(store)
    (report,) = await registered(coordinator, 1)
    await coordinator.report("g", "a", report)
    before = (await store.load("g")).version
    first, second = await coordinator.refresh("g"), await coordinator.refresh("g")
    assert first.event == second.event
    assert (await store.load("g")).version == before


async def test_time_that_changes_a_value_is_committed_for_all_to_see() -> None:
    now = 1_000
    store = CountingStore(lambda: now)
    coordinator = Coordinator(store)
    await coordinator.configure("g", GroupConfig(lease_ms=100))
    (report,) = await registered(coordinator, 1)
    before = await coordinator.report("g", "a", report)
    now += 100
    seen = (await coordinator.refresh("g")).event
    assert seen.revision == now > before.revision
    assert (await Coordinator(store).refresh("g")).event == seen


async def test_a_refused_command_takes_nothing_from_those_of_its_commit(store: Store) -> None:
    coordinator = Coordinator(store)
    first, second = await registered(coordinator, 2)
    stale = ReportedWatermarkEvent(subtask=0, epoch=first.epoch + 1, watermark=1)
    outcomes = await asyncio.gather(
        *(coordinator.report("g", "a", report) for report in (first, stale, second)),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], StaleEpoch)
    assert outcomes[0] == outcomes[2] == (await coordinator.refresh("g")).event


async def test_a_cancelled_caller_leaves_the_others_their_answers(store: Store) -> None:
    coordinator = Coordinator(store)
    first, second = await registered(coordinator, 2)
    gone = asyncio.ensure_future(coordinator.report("g", "a", first))
    stays = asyncio.ensure_future(coordinator.report("g", "a", second))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays).group_watermark <= 101


def queue_over(store: Store) -> tuple[CommitQueue, Listeners]:
    listeners = Listeners()
    return CommitQueue(store, StallDetector(), Limits(), listeners), listeners


async def test_fault_of_command_reaches_caller_and_next_turn_succeeds(store: Store) -> None:
    queue, _ = queue_over(store)
    await queue.submit("g", Configure(GroupConfig()))
    with pytest.raises(AttributeError):
        await queue.submit("g", Progress("a", None))  # type: ignore[arg-type]
    assert (await queue.submit("g", Refresh()))[0].name == "g"


class Heard(TurnListener):
    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def turned(self, turn: Turn) -> None:
        self.turns.append(turn)


async def test_turn_is_heard_before_it_is_answered() -> None:
    store, heard = MemoryStore(), Heard()
    await Coordinator(store).configure("g", GroupConfig())
    queue, listeners = queue_over(store)
    listeners.all = [heard]
    turn, _ = await queue.submit("g", Refresh())
    assert heard.turns == [turn]


async def calls(address: str) -> int:
    """How many scripts Redis has run."""
    async with Redis.from_url(address, decode_responses=True) as client:
        return int((await client.info("commandstats"))["cmdstat_evalsha"]["calls"])


@pytest.mark.parametrize("store_address", ["redis"], indirect=True)
async def test_commit_to_redis_is_one_round_trip_without_other_processes(
    store: Store, store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that pauses for longer than 50 ms would cost another round trip.
    monkeypatch.setattr(states, "CACHED_WITHIN_MS", 60_000)
    coordinator = Coordinator(store)
    (report,) = await registered(coordinator, 1)
    await coordinator.report("g", "a", report)
    before = await calls(store_address)
    for more in range(10):
        await coordinator.report("g", "a", replace(report, watermark=200 + more))
    await coordinator.refresh("g")
    assert await calls(store_address) == before + 11


@pytest.mark.parametrize("store_address", ["redis"], indirect=True)
async def test_a_change_by_another_process_meanwhile_refuses_no_command(store: Store, store_address: str) -> None:
    here, there = Coordinator(store), Coordinator(open_store(store_address))
    (first,) = await registered(here, 1)
    await here.report("g", "a", first)
    (second,) = await registered(there, 1)
    assert (await here.report("g", "a", replace(second, watermark=7))).group_watermark == 7
    with pytest.raises(StaleEpoch):
        await here.report("g", "a", first)
    await there.close()
