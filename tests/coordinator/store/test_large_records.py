"""The records of thousands of splits are written and read in short steps."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.steps import ITEMS_OF_A_STEP, at_once
from lockgate_coordinator.store.split_records import RECORDS_AT_ONCE, SplitRecords
from support.lines import lines_of_each_step

RECORDS = SplitRecords()
SPLITS = 10 * ITEMS_OF_A_STEP
LINES = 8 * SPLITS
"""Of Python that one step may run: 10 ms on a slow machine."""


def owner(begin: int, count: int) -> SplitOwner:
    splits = [KafkaPartitionSplit("t", number, 7) for number in range(begin, begin + count)]
    return SplitOwner(
        heard_at=1, lease_ms=2, held={each.split_id: OwnedSplit(split=each, number=3, since=4) for each in splits}
    )


def of_readers(readers: Mapping[ReaderId, SplitOwner]) -> Enumerator:
    return Enumerator(began_at=0, revision=1, assigning_at=0, readers=readers)


def of_one_reader() -> Enumerator:
    return of_readers({(0, 1): owner(0, SPLITS)})


def of_many_readers() -> Enumerator:
    return of_readers({(each, 1): owner(10 * each, 10) for each in range(SPLITS // 10)})


def of_nobody() -> Enumerator:
    splits = [KafkaPartitionSplit("t", number, 7) for number in range(SPLITS)]
    free = {each.split_id: FreeSplit(split=each) for each in splits}
    return replace(of_readers({}), free=free, finished={**free})


@pytest.fixture(params=[of_one_reader, of_many_readers, of_nobody])
def enumerator(request: pytest.FixtureRequest) -> Enumerator:
    made: Callable[[], Enumerator] = request.param
    return made()


def test_records_of_many_readers_are_written_in_short_steps() -> None:
    lines = lines_of_each_step(RECORDS.changed({}, {"s": of_many_readers()}))
    assert max(lines) <= 20 * RECORDS_AT_ONCE < sum(lines)


def test_records_of_many_splits_are_read_in_short_steps(enumerator: Enumerator) -> None:
    _, written = at_once(RECORDS.changed({}, {"s": enumerator}))
    read = {}
    for field, text in zip(written[::2], written[1::2], strict=True):
        key = RECORDS.key(field)
        assert max(lines_of_each_step(RECORDS.record_from(key, text)), default=0) <= LINES
        read[key] = at_once(RECORDS.record_from(key, text))
    assert at_once(RECORDS.updated("g", {}, None, read)) == {"s": enumerator}


def test_a_source_that_has_not_changed_costs_nothing(enumerator: Enumerator) -> None:
    assert sum(lines_of_each_step(RECORDS.changed({"s": enumerator}, {"s": enumerator}))) < ITEMS_OF_A_STEP
