"""The exact result of a query for the records that it has read, operator by operator."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from seeded.played import Batch, Lane, Record, Run, Split
from seeded.scenario import Operator, Query, Source
from seeded.truth import Tally, late_from, readings, tally

A, B, RIGHT = Split("a", 0), Split("a", 1), Split("b", 0)
SOURCES = (Source(("a",)), Source(("b",)))


def record(n: int, split: Split, offset: int, event_time: int, key: int = 0) -> Record:
    return Record(n, key, split, offset, event_time, 0.0, 0.0)


def of(
    operator: Operator,
    records: list[Record],
    *batches: Batch,
    deleted: Mapping[Split, int] | None = None,
    size: int = 1_000,
) -> Tally:
    lane = Lane(batches, (Run(0, 100, 0, True, True),))
    return tally(Query(operator, 500, size, SOURCES), lane, readings(lane, records), deleted or {})


def batch(ends: Mapping[Split, int], *rows: tuple[object, ...], number: int = 0, watermark: int = 0) -> Batch:
    return Batch(number, 0, 0, watermark, ends, rows)


def test_a_record_without_a_time_is_read_and_is_in_no_result() -> None:
    untimed = replace(record(9, B, 1, 0), timed=False)
    read = readings(Lane([batch({A: 3, B: 2})], ()), [*FOUR, untimed])
    assert read.batch(untimed).number == 0
    assert untimed not in read.records


def lost(found: Tally) -> list[int]:
    return sorted(record.n for record in found.lost)


FOUR = [record(0, A, 0, 100), record(1, A, 1, 900), record(2, A, 2, 1_100), record(3, B, 0, 200)]


def test_only_what_was_read_is_due() -> None:
    found = of(Operator.ROWS, FOUR, batch({A: 1, B: 0}, (0,)))
    assert (found.due, found.lost, found.extra) == (1, (), 0)


def test_reading_begins_where_the_source_did() -> None:
    lane = Lane((batch({A: 3}),), (), begins={A: 2})
    assert [r.n for r in readings(lane, FOUR).records] == [2]


def test_a_record_that_nobody_can_see_is_not_due() -> None:
    aborted = [replace(FOUR[0], visible_at=None), *FOUR[1:]]
    assert of(Operator.ROWS, aborted, batch({A: 3, B: 1}, (1,), (2,), (3,))).due == 3


@pytest.mark.parametrize("operator", [Operator.ROWS, Operator.DEDUP, Operator.PROCESSOR])
def test_a_record_that_is_sent_twice_is_due_once(operator: Operator) -> None:
    found = of(operator, [*FOUR, record(2, A, 3, 1_100)], batch({A: 4, B: 1}, (0,), (1,), (2,), (2,)))
    assert (found.due, lost(found), found.extra) == (4, [3], 1)


def test_a_record_that_kafka_deleted_is_not_lost_by_the_query() -> None:
    assert lost(of(Operator.ROWS, FOUR, batch({A: 3, B: 1}, (2,), (3,)), deleted={A: 1})) == [1]


def test_a_window_with_too_few_rows_has_lost_those_that_were_read_last() -> None:
    found = of(Operator.COUNT, FOUR, batch({A: 3, B: 1}, ("a", 0, 0, 2)), batch({A: 3}, ("a", 0, 0, 1), number=1))
    assert (found.due, lost(found), found.extra) == (4, [1, 2, 3], 0)


def test_a_window_that_counts_too_many_rows_has_some_too_many() -> None:
    found = of(Operator.COUNT, FOUR, batch({A: 3, B: 1}, ("a", 0, 0, 3), ("a", 0, 1000, 1), ("a", 1, 0, 1)))
    assert (lost(found), found.extra) == ([], 1)


def test_sessions_are_due_once_they_are_closed_and_each_as_a_whole() -> None:
    whole, cut = ("a", 0, 100, 2_100, 3), ("a", 0, 100, 1_900, 2)
    ends = {A: 3, B: 1}
    assert of(Operator.SESSION, FOUR, batch(ends, whole, watermark=2_100)).lost == (FOUR[3],)
    assert of(Operator.SESSION, FOUR, batch(ends, watermark=1_000)).lost == ()
    assert lost(of(Operator.SESSION, FOUR, batch(ends, cut, watermark=2_100))) == [0, 3], (
        "one row is missing, whichever it was"
    )
    assert of(Operator.SESSION, FOUR[:3], batch(ends, whole, whole, watermark=2_100)).extra == 1


PAIRS = [
    record(0, A, 0, 100),
    record(1, A, 1, 200),
    record(10, RIGHT, 0, 600, key=0),
    record(11, RIGHT, 1, 9_000, key=1),
]
ALL = {A: 2, RIGHT: 2}


def test_pairs_of_a_join_are_due_whose_partners_are_near_enough() -> None:
    assert lost(of(Operator.INNER, PAIRS, batch({A: 2}), batch(ALL, number=1))) == [10], (
        "of two partners that which was read last"
    )
    assert of(Operator.INNER, PAIRS, batch(ALL, (0, 10), (1, 11))).extra == 1


def test_a_row_that_stays_alone_in_an_outer_join_is_due_once_no_partner_can_come() -> None:
    assert lost(of(Operator.OUTER, PAIRS, batch(ALL, (0, 10), watermark=9_000))) == [1]
    assert lost(of(Operator.OUTER, PAIRS, batch(ALL, (0, 10), watermark=1_000))) == []
    assert of(Operator.OUTER, PAIRS, batch(ALL, (0, 10), (0, None), (1, None), watermark=9_000)).extra == 1


@pytest.mark.parametrize(
    ("operator", "late"), [(Operator.COUNT, 2_000), (Operator.SESSION, 2_200), (Operator.DEDUP, 1_200)]
)
def test_a_row_is_late_where_spark_drops_it(operator: Operator, late: int) -> None:
    assert late_from(Query(operator, 500, 1_000, SOURCES), record(0, A, 0, 1_200)) == late
