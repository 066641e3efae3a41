import asyncio
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from lockgate.errors import StaleEpoch, UnknownGroup
from lockgate.group.group import Group
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service import turns
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.turns import Turn, Turns
from lockgate_coordinator.store import Loaded, MemoryStore, Store, open_store
from lockgate_coordinator.store import redis as redis_store


class CountingStore(MemoryStore):
    """Memory that counts what is committed, and whose answers take their time as those of a shared
    store do.
    """

    shared = True
    commits = 0

    async def commit(self, loaded: Loaded, group: Group) -> Loaded | None:
        self.commits += 1
        await asyncio.sleep(0)
        return await super().commit(loaded, group)


class BusyStore(MemoryStore):
    """Memory in which others were faster with the next commit, once `overtaken` is set, and have
    claimed the group then.
    """

    overtaken = False
    claims = 0

    async def commit(self, loaded: Loaded, group: Group) -> Loaded | None:
        if self.overtaken:
            self.overtaken = False
            self._versions[loaded.name] = loaded.next_version
        return await super().commit(loaded, group)

    async def claim(self, name: str) -> int:
        self.claims += 1
        return 2_300 if self.claims == 1 else 0


async def registered(coordinator: Coordinator, readers: int) -> list[ReportedWatermarkEvent]:
    """A first report of each of so many readers."""
    registrations = [ReaderRegistrationEvent(subtask=subtask) for subtask in range(readers)]
    answers = await asyncio.gather(*(coordinator.register("g", "a", event) for event in registrations))
    return [
        ReportedWatermarkEvent(subtask=answer.subtask, epoch=answer.epoch, watermark=100 + answer.subtask)
        for answer in answers
    ]


async def test_commands_that_come_together_make_one_turn_and_each_answer_counts_them_all() -> None:
    store = CountingStore()
    coordinator = Coordinator(store)
    reports = await registered(coordinator, 50)
    assert store.commits == 1
    events = await asyncio.gather(*(coordinator.report("g", "a", report) for report in reversed(reports)))
    assert store.commits == 2
    assert {event.group_watermark for event in events} == {100}


async def test_looking_commits_nothing_while_nothing_changes(store: Store) -> None:
    coordinator = Coordinator(store)
    (report,) = await registered(coordinator, 1)
    await coordinator.report("g", "a", report)
    before = (await store.load("g")).version
    first, second = await coordinator.look("g"), await coordinator.look("g")
    assert first.event == second.event
    assert (await store.load("g")).version == before


async def test_time_that_changes_a_value_is_committed_for_all_to_see() -> None:
    now = 1_000
    store = CountingStore(lambda: now)
    coordinator = Coordinator(store)
    await coordinator.configure("g", GroupConfig(lease_ms=100), lambda group: True)
    (report,) = await registered(coordinator, 1)
    told = await coordinator.report("g", "a", report)
    now += 100
    seen = (await coordinator.look("g")).event
    assert seen.revision == now > told.revision
    assert (await Coordinator(store).look("g")).event == seen


async def test_busy_turns_go_on_claiming_the_group_while_claims_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = BusyStore()
    coordinator = Coordinator(store)
    reports = await registered(coordinator, turns.CLAIM_FROM)
    monkeypatch.setattr(turns, "CLAIMED_MS", 0)  # each turn wants a claim of its own
    monkeypatch.setattr(turns, "CONTENDED_S", 2.0)  # less than the refused claim is waited for

    async def turn(watermark: int) -> None:
        await asyncio.gather(
            *(coordinator.report("g", "a", replace(report, watermark=watermark)) for report in reports)
        )

    store.overtaken = True
    await turn(200)
    assert store.claims == 0
    monkeypatch.setattr(turns, "CONTENDED_S", 60.0)
    await turn(300)
    await turn(400)
    assert store.claims == 3


async def test_a_refused_command_takes_nothing_from_those_of_its_turn(store: Store) -> None:
    coordinator = Coordinator(store)
    first, second = await registered(coordinator, 2)
    stale = ReportedWatermarkEvent(subtask=0, epoch=first.epoch + 1, watermark=1)
    outcomes = await asyncio.gather(
        *(coordinator.report("g", "a", report) for report in (first, stale, second)),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], StaleEpoch)
    assert outcomes[0] == outcomes[2] == (await coordinator.look("g")).event


async def test_whoever_goes_away_leaves_the_others_their_answers(store: Store) -> None:
    coordinator = Coordinator(store)
    first, second = await registered(coordinator, 2)
    gone = asyncio.ensure_future(coordinator.report("g", "a", first))
    stays = asyncio.ensure_future(coordinator.report("g", "a", second))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays).group_watermark <= 101


async def test_a_fault_of_a_command_is_told_and_the_next_turn_goes_on(store: Store) -> None:
    turns = Turns(store, lambda turn: None)

    def faulty(loaded: Loaded, group: Group | None) -> Group:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await turns.take("g", faulty)
    with pytest.raises(UnknownGroup):
        await turns.take("g", lambda loaded, group: group)


async def test_what_is_committed_is_announced_before_it_is_answered() -> None:
    told: list[Turn] = []
    store = MemoryStore()
    await Coordinator(store).configure("g", GroupConfig(), lambda group: True)
    turn = await Turns(store, told.append).take("g", lambda loaded, group: group)
    assert [each.event for each in told] == [turn.event]


async def calls(address: str) -> int:
    """How many scripts Redis has run."""
    async with Redis.from_url(address, decode_responses=True) as client:
        return int((await client.info("commandstats"))["cmdstat_evalsha"]["calls"])


@pytest.mark.parametrize("store_address", ["redis"], indirect=True)
async def test_a_turn_on_redis_is_one_round_trip_while_nobody_else_is_at_work(
    store: Store, store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        redis_store, "RECALLED_WITHIN_MS", 60_000
    )  # a machine that pauses for longer than 50 ms costs another one
    coordinator = Coordinator(store)
    (report,) = await registered(coordinator, 1)
    await coordinator.report("g", "a", report)
    before = await calls(store_address)
    for more in range(10):
        await coordinator.report("g", "a", replace(report, watermark=200 + more))
    await coordinator.look("g")
    assert await calls(store_address) == before + 11


@pytest.mark.parametrize("store_address", ["redis"], indirect=True)
async def test_nobody_is_refused_by_what_another_process_has_changed_meanwhile(
    store: Store, store_address: str
) -> None:
    here, there = Coordinator(store), Coordinator(open_store(store_address))
    (first,) = await registered(here, 1)
    await here.report("g", "a", first)
    (second,) = await registered(there, 1)
    assert (await here.report("g", "a", replace(second, watermark=7))).group_watermark == 7
    with pytest.raises(StaleEpoch):
        await here.report("g", "a", first)
    await there.close()


@pytest.mark.parametrize("store_address", ["redis"], indirect=True)
async def test_two_processes_at_work_in_one_group_both_get_through(store: Store, store_address: str) -> None:
    both = Coordinator(store), Coordinator(open_store(store_address))
    reports = await registered(both[0], 8)

    async def report_often(coordinator: Coordinator, report: ReportedWatermarkEvent) -> None:
        for more in range(25):
            await coordinator.report("g", "a", replace(report, watermark=1_000 + more))

    await asyncio.gather(*(report_often(both[report.subtask % 2], report) for report in reports))
    assert {(await each.look("g")).event.group_watermark for each in both} == {1_024}
    await both[1].close()
