"""Single exchanges: what a reader says, and what it is to do."""

import pytest

from core.enumerator.fleet import Fleet, assigned, split
from lockgate.enumerator.answers import Wishes, wishes
from lockgate.enumerator.discovery import with_static_list
from lockgate.enumerator.exchange import mail
from lockgate.enumerator.model import Enumerator
from lockgate.errors import StaleEpoch
from lockgate.steps import at_once
from lockgate.wire.split_events import SourceEvent, SplitExchange, SplitList
from support.exchanging import exchange


def settled(partitions: int = 4, readers: int = 2) -> Fleet:
    """A fleet whose splits are assigned."""
    fleet = Fleet(partitions=partitions)
    for subtask in range(readers):
        fleet.start(subtask)
    for _ in range(5):
        for process in fleet.processes:
            fleet.exchange(process)
        fleet.now += 100
    return fleet


def said(fleet: Fleet, subtask: int, event: SplitExchange) -> Wishes:
    """Return what a reader is to do that says this."""
    id = (subtask, event.epoch)
    done = exchange(fleet.enumerator, id, event, fleet.now)
    fleet.enumerator = done.enumerator
    return wishes(done.enumerator, id, event, fleet.now)


def blocked_by(enumerator: Enumerator, subtask: int) -> set[str]:
    return {id for (who, _), reader in enumerator.readers.items() if who == subtask for id in reader.held}


def test_readers_that_start_together_share_the_splits_from_the_beginning() -> None:
    fleet = settled(partitions=5)

    assert [len(process.held) for process in fleet.processes] == [3, 2]
    assert {len(process.drained) for process in fleet.processes} == {0}


def test_new_reader_gets_a_split_once_it_was_given_back() -> None:
    fleet = settled()
    fleet.start(2)
    fleet.exchange(fleet.processes[2])
    older = fleet.processes[1]
    fleet.exchange(older)
    ((id, drained),) = older.drained.items()
    assert blocked_by(fleet.enumerator, 2) == set()
    older.drained[id] = assigned(drained.split.partition, drained.assignment, 77)
    fleet.exchange(older)
    fleet.exchange(fleet.processes[2])

    assert fleet.processes[2].held[id].split.starting_offset == 77
    assert id not in older.held


def test_what_a_lost_reader_held_goes_on_from_its_last_snapshot() -> None:
    fleet = settled()
    lost = fleet.processes.pop()
    for id, held in lost.held.items():
        lost.held[id] = assigned(held.split.partition, held.assignment, 50)
    fleet.processes.append(lost)
    fleet.exchange(fleet.processes.pop())
    ids = set(lost.held)
    for _ in range(5):
        assert not ids & set(fleet.processes[0].held)
        fleet.now += 200
        fleet.exchange(fleet.processes[0])

    assert {fleet.processes[0].held[id].split.starting_offset for id in ids} == {50}


def test_a_reader_that_leaves_gives_on_at_once() -> None:
    fleet = settled()
    fleet.leave(fleet.processes[1])
    fleet.exchange(fleet.processes[0])

    assert len(fleet.processes[0].held) == 4


def test_a_snapshot_of_a_fenced_reader_changes_nothing() -> None:
    fleet = settled()
    old = fleet.processes[0]
    new = fleet.start(0)
    fleet.exchange(new)
    before = fleet.enumerator
    with pytest.raises(StaleEpoch):
        said(fleet, 0, SplitExchange(epoch=old.epoch, held=tuple(old.held.values())))

    assert fleet.enumerator is before
    assert not new.held


def test_positions_go_back_by_a_restore_alone() -> None:
    fleet = settled(partitions=1, readers=1)
    epoch, number = fleet.processes[0].epoch, fleet.processes[0].held["orders-0"].assignment

    def position(offset: int, *, restored: bool = False) -> int:
        event = SplitExchange(epoch=epoch, held=(assigned(0, number, offset, restored=restored),))
        said(fleet, 0, event)
        return fleet.enumerator.readers[0, epoch].held["orders-0"].split.starting_offset

    assert [position(40), position(30), position(-2), position(20, restored=True), position(25)] == [40, 40, 40, 20, 25]


def test_a_split_that_an_answer_has_lost_is_added_again_under_its_number() -> None:
    fleet = settled(partitions=1, readers=1)
    process = fleet.processes[0]
    number = process.held["orders-0"].assignment
    process.held.clear()
    fleet.exchange(process)

    assert process.held["orders-0"].assignment == number


def test_a_reader_of_capacity_0_gives_back_all_it_holds() -> None:
    fleet = settled()
    fleet.processes[0].capacity = 0
    for _ in range(3):
        for process in fleet.processes:
            fleet.exchange(process)

    assert [len(process.held) for process in fleet.processes] == [0, 4]


def test_no_more_splits_is_said_when_all_that_others_hold_is_finished() -> None:
    fleet = settled(partitions=2)
    first, second = fleet.processes
    listed = SplitList(splits=fleet.splits(), bounded=True)
    fleet.enumerator = at_once(with_static_list(fleet.enumerator, listed, fleet.now))
    bounded = SplitExchange(epoch=first.epoch, held=tuple(first.held.values()))
    assert not said(fleet, 0, bounded).no_more_splits
    assert said(fleet, 1, SplitExchange(epoch=second.epoch, finished=tuple(second.held.values()))) == Wishes()
    assert said(fleet, 0, bounded).no_more_splits


def test_a_backlog_of_one_reader_is_one_of_the_source() -> None:
    fleet = settled()
    for backlog in (True, False):
        epoch = fleet.processes[0].epoch
        said(fleet, 0, SplitExchange(epoch=epoch, is_processing_backlog=backlog))
        event = SplitExchange(epoch=fleet.processes[1].epoch, held=tuple(fleet.processes[1].held.values()))
        assert said(fleet, 1, event).is_processing_backlog is backlog


def test_source_events_reach_present_readers_until_they_have_seen_them() -> None:
    fleet = settled()
    fleet.enumerator = mail(fleet.enumerator, '{"a":1}', None, fleet.now)
    fleet.enumerator = mail(fleet.enumerator, '{"b":2}', 1, fleet.now)
    first, second = (SplitExchange(epoch=process.epoch) for process in fleet.processes)
    (one,) = said(fleet, 0, first).source_events
    assert one.event == {"a": 1}
    assert said(fleet, 0, SplitExchange(epoch=first.epoch, source_events_seen=one.number)).source_events == ()
    assert [each.event for each in said(fleet, 1, second).source_events] == [{"a": 1}, {"b": 2}]
    late = fleet.start(2)
    assert said(fleet, 2, SplitExchange(epoch=late.epoch)).source_events == ()


def test_a_readers_source_event_that_is_repeated_is_taken_once() -> None:
    fleet = settled()
    event = SplitExchange(epoch=fleet.processes[0].epoch, source_events=(SourceEvent(id="x", event={"n": 1}),))
    said(fleet, 0, event)
    said(fleet, 0, event)

    assert [(each.id, each.subtask, each.text) for each in fleet.enumerator.from_readers] == [("x", 0, '{"n":1}')]


def test_exchange_of_positions_alone_keeps_revision_and_other_values() -> None:
    fleet = settled()
    before, process = fleet.enumerator, fleet.processes[0]
    fleet.read(process, 5)
    fleet.exchange(process)
    after, other = fleet.enumerator, (1, fleet.processes[1].epoch)

    assert (after.revision, after.free, after.finished) == (before.revision, before.free, before.finished)
    assert after.free is before.free
    assert after.readers[other] is before.readers[other]
    assert split(0).split_id == "orders-0"
