"""When a lost reader no longer holds its group under `hold`: its splits are in other hands."""

from dataclasses import replace

import pytest

from core.enumerator.test_discovery import listed
from core.enumerator.test_exchanges import blocked_by, settled
from lockgate.enumerator.replaced import lost_readers, replaced
from lockgate.group.commands import RemoveLost
from lockgate.group.group import Group, create
from lockgate.wire.events import OnLostReader
from support.exchanging import CONFIG
from support.turns import NOW, after, after_leases, reported

HOLD = replace(CONFIG, on_lost_reader=OnLostReader.HOLD)


@pytest.fixture
def group() -> Group:
    """Readers 0 and 1 of s, and 1 of t. Those with the number 1 are lost."""
    group = create("g", HOLD, NOW)
    for source, subtask in (("s", 0), ("s", 1), ("t", 1)):
        group = reported(group, source, 5, subtask=subtask)
    for since in range(0, HOLD.lease_ms, 100):  # a silence of all would lengthen the leases
        group = reported(group, "s", 5, NOW + since, subtask=0)
    return after_leases(group, NOW + HOLD.lease_ms)


def test_only_lost_readers_of_the_source_are_asked_for_under_hold(group: Group) -> None:
    assert lost_readers(group, "s") == [("s", 1)]
    assert lost_readers(replace(group, config=CONFIG), "s") == []


def test_a_reader_is_replaced_once_others_have_all_that_it_had() -> None:
    fleet = settled(partitions=4, readers=2)
    assert not replaced(fleet.enumerator, [("s", 1)]), "its splits are its own"
    fleet.processes = fleet.processes[:1]
    for _ in range(2 * CONFIG.lease_ms // 100):
        fleet.exchange(fleet.processes[0])
        fleet.now += 100
    assert replaced(fleet.enumerator, [("s", 1)])


def test_a_split_that_waits_for_a_reader_keeps_its_last_one_in_the_group() -> None:
    fleet = settled(partitions=4, readers=2)
    fleet.processes[0].capacity = 0
    fleet.processes = fleet.processes[:1]
    for _ in range(2 * CONFIG.lease_ms // 100):
        fleet.exchange(fleet.processes[0])
        fleet.now += 100
    assert len(fleet.enumerator.free) == 4
    assert not replaced(fleet.enumerator, [("s", 1)])
    assert not replaced(replace(fleet.enumerator, free={}, listed=False), [("s", 1)]), "after a loss nobody knows"


def test_a_split_that_no_list_names_any_more_keeps_nobody_in_the_group() -> None:
    fleet = settled(partitions=4, readers=2)
    gone = {int(id[-1]) for id in blocked_by(fleet.enumerator, 1)}
    listed(fleet, *(each for each in fleet.splits() if each.partition not in gone))
    fleet.leave(fleet.processes[1])
    assert fleet.enumerator.free.keys() == fleet.enumerator.missing
    assert replaced(fleet.enumerator, [("s", 1)])


def test_a_replaced_reader_leaves_unless_it_has_come_back(group: Group) -> None:
    now_ms, gone = NOW + HOLD.lease_ms, RemoveLost([("s", 1), ("s", 9)])
    assert ("s", 1) not in after(group, gone, now_ms).readers
    back = reported(group, "s", 5, now_ms, subtask=1)
    assert after(back, gone, now_ms) is back
