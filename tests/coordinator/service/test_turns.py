import asyncio

import pytest

from lockgate.errors import StaleEpoch, UnknownGroup
from lockgate.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate.group import Group
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.turns import Turn, Turns
from lockgate_coordinator.store import Loaded, MemoryStore, Store


class CountingStore(MemoryStore):
    """Memory that counts what is committed, and whose answers take their time as those of a shared store do."""

    shared = True
    commits = 0

    async def commit(self, loaded: Loaded, group: Group) -> Loaded | None:
        self.commits += 1
        await asyncio.sleep(0)
        return await super().commit(loaded, group)


async def registered(coordinator: Coordinator, readers: int) -> list[ReportedWatermarkEvent]:
    """A first report of each of so many readers."""
    registrations = [ReaderRegistrationEvent(subtask=subtask) for subtask in range(readers)]
    answers = await asyncio.gather(*(coordinator.register("g", "a", event) for event in registrations))
    return [ReportedWatermarkEvent(subtask=answer.subtask, epoch=answer.epoch, watermark=100 + answer.subtask) for answer in answers]


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
