"""What a described log holds, against the same log listed record by record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload

HOUR = 3_600_000


@st.composite
def stretches(draw: st.DrawFn) -> tuple[Stretch, ...]:
    found, begin = [], draw(st.integers(0, 50))
    for _ in range(draw(st.integers(1, 3))):
        end = begin + draw(st.integers(0, 60))
        found.append(Stretch(draw(st.integers(1, 20)), begin, end))
        begin = end + draw(st.integers(0, 10))
    return tuple(found)


def query(*splits: SplitLoad, **more: object) -> QueryLoad:
    return QueryLoad(name="q", splits=splits, records_per_second=1_000.0, delay_ms=HOUR, **more)  # type: ignore[arg-type]


@given(stretches(), st.integers(-10, 300))
def test_a_described_log_answers_as_the_same_log_listed_record_by_record(
    parts: tuple[Stretch, ...], event_time: int
) -> None:
    split = SplitLoad("a", parts)
    listed = [split.time(offset) for offset in range(split.records)]
    assert listed == sorted(listed)
    assert split.up_to(event_time) == sum(time <= event_time for time in listed)


@given(stretches(), st.integers(0, 40), st.integers(-10, 300))
def test_a_live_log_holds_what_its_producer_has_appended_by_then(
    parts: tuple[Stretch, ...], lag: int, wall: int
) -> None:
    split = SplitLoad("a", parts, lag)
    assert split.end_at(wall) == sum(split.time(offset) + lag <= wall for offset in range(split.records))
    assert SplitLoad("a", parts).end_at(wall) == split.records


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5), st.integers(6, 9)), min_size=9, max_size=200))
def test_many_splits_become_few_and_lose_no_record(kinds: list[tuple[int, int, int]]) -> None:
    load = query(*(SplitLoad(str(i), (Stretch(n, a * HOUR, b * HOUR),)) for i, (n, a, b) in enumerate(kinds)))
    few = load.in_kinds(8)
    assert few.records == load.records
    assert len(few.splits) <= 8 or len({split.stretches[0][1:] for split in few.splits}) == len(few.splits)
    assert max(split.stretches[-1].end for split in few.splits) == max(b for _, _, b in kinds) * HOUR


def test_few_splits_are_simulated_as_they_are() -> None:
    load = query(SplitLoad("a", (Stretch(3, 0, 9),)), SplitLoad("b", (Stretch(5, 0, 9),)))
    assert load.in_kinds() is load


def test_a_workload_of_the_past_begins_once_no_producer_can_be_behind() -> None:
    load = query(SplitLoad("a", (Stretch(3, 0, HOUR),)), idle_timeout_ms=60_000)
    assert Workload(queries=(load,)).begin == HOUR + 60_000 + 1
    assert Workload(queries=(load,), start_ms=7).begin == 7


@pytest.mark.parametrize(
    ("parts", "lag", "said"),
    [
        ((Stretch(0, 0, 9),), None, "must hold a record"),
        ((Stretch(1, 9, 0),), None, "must not go back"),
        ((Stretch(1, 0, 9), Stretch(1, 8, 20)), None, "must not go back"),
        ((Stretch(1, 0, 9),), -1, "must be 0 or more"),
    ],
)
def test_an_impossible_log_is_refused_by_its_name(parts: tuple[Stretch, ...], lag: int | None, said: str) -> None:
    with pytest.raises(InvalidValue, match=f"partition orders-3.*{said}"):
        SplitLoad("orders-3", parts, lag)


def test_an_impossible_query_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidValue, match=r"query q.*no partition"):
        query()
    with pytest.raises(InvalidValue, match="max_offsets_per_trigger"):
        query(SplitLoad("a", ()), budget=0)
    with pytest.raises(InvalidValue, match="the same name"):
        Workload(queries=(query(SplitLoad("a", ())), query(SplitLoad("a", ()))))
