"""Lists of splits: new, missing and known ones."""

from core.enumerator.fleet import CONFIG, Fleet, split
from core.enumerator.test_exchanges import held_by, settled
from lockgate.enumerator.discovery import is_asked, with_static_list
from lockgate.enumerator.exchange import create, exchange
from lockgate.enumerator.model import Enumerator
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET, KafkaPartitionSplit
from lockgate.steps import at_once
from lockgate.wire.split_events import DiscoveredSplits, SplitExchange

NOW = 1_000_000


def listed(fleet: Fleet, *splits: KafkaPartitionSplit) -> Enumerator:
    """After a list of the first reader."""
    process = fleet.processes[0]
    event = SplitExchange(
        epoch=process.epoch,
        held=tuple(process.held.values()),
        discovered=DiscoveredSplits(splits=splits),
        discovery_interval_ms=500,
    )
    done = exchange(fleet.enumerator, (process.subtask, process.epoch), "s", event, CONFIG, fleet.now)
    fleet.enumerator = done.enumerator
    return done.enumerator


def starts(enumerator: Enumerator) -> dict[str, int]:
    held = {id: each.split for reader in enumerator.readers.values() for id, each in reader.held.items()}
    return {id: each.starting_offset for id, each in held.items()}


def test_a_split_that_appears_later_begins_at_its_offset_or_at_the_earliest() -> None:
    fleet = settled(partitions=1, readers=1)
    after = listed(fleet, split(0, LATEST_OFFSET), split(1, LATEST_OFFSET), split(2, COMMITTED_OFFSET), split(3, 9))

    assert starts(after) == {"orders-0": 0, "orders-1": EARLIEST_OFFSET, "orders-2": EARLIEST_OFFSET, "orders-3": 9}


def test_a_missing_split_stays_with_its_reader_and_is_given_to_no_other_until_it_is_named_again() -> None:
    fleet = settled(partitions=2)
    mine = next(iter(held_by(fleet.enumerator, 1)))
    gone = split(int(mine[-1]))
    rest = [each for each in fleet.splits() if each != gone]
    assert held_by(listed(fleet, *rest), 1) == {mine}

    fleet.leave(fleet.processes[1])
    assert mine in fleet.enumerator.free
    assert mine not in held_by(listed(fleet, *rest), 0)
    assert mine in held_by(listed(fleet, *rest, gone), 0)


def test_the_lowest_living_reader_that_can_discover_is_asked_and_again_after_its_interval() -> None:
    fleet = settled()
    first, second = ((process.subtask, process.epoch) for process in fleet.processes)
    began = fleet.enumerator.discovered_at or 0
    assert not is_asked(fleet.enumerator, first, began + 499)
    assert is_asked(fleet.enumerator, first, began + 500)
    assert not is_asked(fleet.enumerator, second, began + 500)

    fleet.leave(fleet.processes[0])
    assert is_asked(fleet.enumerator, second, began + 500)


def test_a_list_that_is_asked_for_once_is_asked_for_until_it_has_come() -> None:
    event = SplitExchange(epoch=1, discovery_interval_ms=0)
    waiting = exchange(create(CONFIG, NOW), (0, 1), "s", event, CONFIG, NOW).enumerator
    assert is_asked(waiting, (0, 1), NOW)

    answered = SplitExchange(epoch=1, discovery_interval_ms=0, discovered=DiscoveredSplits(splits=()))
    done = exchange(waiting, (0, 1), "s", answered, CONFIG, NOW).enumerator
    assert not is_asked(done, (0, 1), NOW + 10**9)


def test_an_operators_list_replaces_discovery() -> None:
    fleet = settled(partitions=1)
    fleet.enumerator = at_once(with_static_list(fleet.enumerator, DiscoveredSplits(splits=(split(7, 70),)), fleet.now))
    listed(fleet, split(8))

    assert set(fleet.enumerator.ids()) == {"orders-0", "orders-7"}
    assert fleet.enumerator.missing == {"orders-0"}
    assert not is_asked(fleet.enumerator, (0, fleet.processes[0].epoch), fleet.now + 10**9)
