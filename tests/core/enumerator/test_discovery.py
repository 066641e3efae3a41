"""Lists of splits: new, missing and known ones."""

from dataclasses import replace

from core.enumerator.fleet import Fleet, split
from core.enumerator.test_exchanges import blocked_by, settled
from lockgate.enumerator.answers import has_no_more
from lockgate.enumerator.discovery import request_to, with_static_list
from lockgate.enumerator.exchange import create
from lockgate.enumerator.model import Enumerator, FreeSplit
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET, KafkaPartitionSplit
from lockgate.steps import at_once
from lockgate.wire.split_events import DiscoveredSplits, SplitExchange, SplitList
from support.exchanging import CONFIG, exchange

NOW = 1_000_000


def listed(fleet: Fleet, *splits: KafkaPartitionSplit) -> Enumerator:
    """After a list of the first reader."""
    process = fleet.processes[0]
    fleet.now += 500
    for other in fleet.processes[1:]:
        fleet.exchange(other)
    reader = (process.subtask, process.epoch)
    event = SplitExchange(
        epoch=process.epoch,
        held=tuple(process.held.values()),
        discovered=DiscoveredSplits(splits=splits, request=request_to(fleet.enumerator, reader, fleet.now)),
        discovery_interval_ms=500,
    )
    done = exchange(fleet.enumerator, reader, event, fleet.now)
    fleet.enumerator = done.enumerator
    return done.enumerator


def test_a_list_that_was_not_asked_for_or_comes_late_changes_nothing() -> None:
    fleet = settled(partitions=2)
    first, second = ((process.subtask, process.epoch) for process in fleet.processes)
    fleet.now += 500
    for process in fleet.processes:
        fleet.exchange(process)  # the first of them is asked, and answers in its next exchange
    request = fleet.processes[0].asked
    answered = listed_as(fleet.enumerator, first, request, fleet.now)
    assert (answered.bounded, answered.missing) == (True, {"orders-0", "orders-1"})
    for before, reader, number, now in (
        (fleet.enumerator, first, None, fleet.now),
        (fleet.enumerator, first, (request or 0) - 1, fleet.now),
        (fleet.enumerator, first, (request or 0) + 1, fleet.now),
        (fleet.enumerator, second, request, fleet.now),
        (answered, first, request, fleet.now),
        (answered, first, request, fleet.now + 500),
        (answered, first, answered.discovered_at, fleet.now + 499),
    ):
        after = listed_as(before, reader, number, now, bounded=False)
        assert list_of(after) == list_of(before), (reader, number, now)


def listed_as(
    enumerator: Enumerator, reader: tuple[int, int], request: int | None, now: int, *, bounded: bool = True
) -> Enumerator:
    """After a list of one split that nobody knew, under this number."""
    found = DiscoveredSplits(splits=(split(9),), bounded=bounded, request=request)
    event = SplitExchange(epoch=reader[1], discovered=found, discovery_interval_ms=500)
    return exchange(enumerator, reader, event, now).enumerator


def list_of(enumerator: Enumerator) -> tuple[frozenset[str], frozenset[str], bool, int | None]:
    return frozenset(enumerator.ids()), enumerator.missing, enumerator.bounded, enumerator.discovered_at


def test_more_splits_may_come_while_a_missing_one_is_not_read_to_its_end() -> None:
    fleet = settled(partitions=2, readers=1)
    id = (0, fleet.processes[0].epoch)
    rest = SplitList(splits=(split(0),), bounded=True)
    gone = at_once(with_static_list(fleet.enumerator, rest, fleet.now))
    assert has_no_more(gone, id), "the reader itself holds the missing one"
    assert not has_no_more(
        replace(gone, free={"orders-7": FreeSplit(split=split(7))}, missing=frozenset({"orders-7"})), id
    )


def starts(enumerator: Enumerator) -> dict[str, int]:
    held = {id: each.split for reader in enumerator.readers.values() for id, each in reader.held.items()}
    return {id: each.starting_offset for id, each in held.items()}


def test_split_that_appears_later_begins_at_its_offset_or_the_earliest() -> None:
    fleet = settled(partitions=1, readers=1)
    after = listed(fleet, split(0, LATEST_OFFSET), split(1, LATEST_OFFSET), split(2, COMMITTED_OFFSET), split(3, 9))

    assert starts(after) == {
        "orders-0": EARLIEST_OFFSET,
        "orders-1": EARLIEST_OFFSET,
        "orders-2": EARLIEST_OFFSET,
        "orders-3": 9,
    }


def test_missing_split_goes_to_no_other_reader_until_listed_again() -> None:
    fleet = settled(partitions=2)
    mine = next(iter(blocked_by(fleet.enumerator, 1)))
    gone = split(int(mine[-1]), EARLIEST_OFFSET)
    rest = [each for each in fleet.splits() if each != gone]
    assert blocked_by(listed(fleet, *rest), 1) == {mine}

    fleet.leave(fleet.processes[1])
    assert mine in fleet.enumerator.free
    assert mine not in blocked_by(listed(fleet, *rest), 0)
    assert mine in blocked_by(listed(fleet, *rest, gone), 0)


def test_lowest_living_reader_is_asked_for_splits_after_each_interval() -> None:
    fleet = settled()
    first, second = ((process.subtask, process.epoch) for process in fleet.processes)
    began = fleet.enumerator.discovered_at or 0
    assert request_to(fleet.enumerator, first, began + 499) is None
    assert request_to(fleet.enumerator, first, began + 500) == began
    assert request_to(fleet.enumerator, second, began + 500) is None

    fleet.leave(fleet.processes[0])
    assert request_to(fleet.enumerator, second, began + 500) == began


def test_a_list_that_is_asked_for_once_is_asked_for_until_it_has_come() -> None:
    event = SplitExchange(epoch=1, discovery_interval_ms=0)
    waiting = exchange(create(CONFIG, NOW), (0, 1), event, NOW).enumerator
    request = request_to(waiting, (0, 1), NOW)
    assert request is not None

    answered = SplitExchange(epoch=1, discovery_interval_ms=0, discovered=DiscoveredSplits(splits=(), request=request))
    done = exchange(waiting, (0, 1), answered, NOW).enumerator
    assert request_to(done, (0, 1), NOW + 10**9) is None


def test_an_operators_list_replaces_discovery() -> None:
    fleet = settled(partitions=1)
    fleet.enumerator = at_once(with_static_list(fleet.enumerator, SplitList(splits=(split(7, 70),)), fleet.now))
    listed(fleet, split(8))

    assert set(fleet.enumerator.ids()) == {"orders-0", "orders-7"}
    assert fleet.enumerator.missing == {"orders-0"}
    assert request_to(fleet.enumerator, (0, fleet.processes[0].epoch), fleet.now + 10**9) is None
