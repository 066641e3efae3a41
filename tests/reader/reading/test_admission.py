"""The one decision of a reader: how far it reads, and what Kafka's client pauses meanwhile."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN
from lockgate_reader.place import Key
from lockgate_reader.reading.admission import LEAST_KEPT, MOST_KEPT, Admission


@dataclass
class Position:
    """A split, as far as the decision needs it."""

    value: int = MIN
    next_time: int | None = None
    kept: int = 0
    paused: bool = False
    idle: bool = False

    @property
    def watermark(self) -> "Position":
        return self


A, B = ("t", 0), ("t", 1)
DRIFT = 10
decide: Any = Admission.decide
TIMES = st.integers(0, 5_000)
POSITIONS = st.dictionaries(
    st.tuples(st.just("t"), st.integers(0, 9)),
    st.builds(
        Position,
        value=st.just(MIN) | TIMES,
        next_time=st.none() | st.just(MIN) | TIMES,
        kept=st.integers(0, MOST_KEPT),
        paused=st.booleans(),
        idle=st.booleans(),
    ),
    min_size=1,
)


@pytest.mark.parametrize(
    ("watermark", "next_times", "limit"),
    [
        (MIN, (500, None), MIN),  # nothing is returned before every split has shown a record
        (MIN, (500, 700), 500),
        (100, (None, None), 110),
        (100, (500, None), 110),
        (100, (105, 300), 110),
        (100, (500, 700), 500),  # a gap that is wider than the drift is crossed
        (100, (MIN, 700), 110),
    ],
)
def test_limit_is_a_drift_above_the_lowest_watermark(
    watermark: int, next_times: tuple[int | None, int | None], limit: int
) -> None:
    positions = {A: Position(watermark, next_times[0]), B: Position(900, next_times[1])}
    assert decide(positions, MAX, DRIFT).limit == limit
    assert decide(positions, 50, DRIFT).limit == min(50, limit)


def test_idle_split_limits_nobody() -> None:
    positions = {A: Position(idle=True), B: Position(900)}
    assert decide(positions, MAX, DRIFT).limit == 910


@given(POSITIONS, st.just(MAX) | TIMES, st.integers(1, 1_000))
def test_limit_is_never_above_the_ceiling_and_lets_the_lowest_read(
    positions: dict[Key, Position], ceiling: int, drift: int
) -> None:
    found = decide(positions, ceiling, drift)
    assert found.limit <= ceiling
    counting = [each for each in positions.values() if not each.idle]
    if counting and all(each.next_time is not None for each in counting):
        assert found.limit == ceiling or any((each.next_time or 0) <= found.limit for each in counting)


@given(POSITIONS, st.just(MAX) | TIMES)
def test_splits_pause_when_full_and_resume_half_empty(positions: dict[Key, Position], ceiling: int) -> None:
    found = decide(positions, ceiling, DRIFT)
    most = max(LEAST_KEPT, MOST_KEPT // len(positions))
    for key, each in positions.items():
        assert (key in found.pause) == (not each.paused and each.kept > most)
        assert (key in found.resume) == (each.paused and each.kept <= most // 2)


@given(POSITIONS, st.just(MAX) | TIMES)
def test_decision_that_was_obeyed_pauses_and_resumes_nothing_more(positions: dict[Key, Position], ceiling: int) -> None:
    found = decide(positions, ceiling, DRIFT)
    obeyed = {
        key: Position(each.value, each.next_time, each.kept, _paused(found, key, each), each.idle)
        for key, each in positions.items()
    }
    assert decide(obeyed, ceiling, DRIFT) == Admission(found.limit, most=found.most)


def _paused(found: Admission, key: Key, position: Position) -> bool:
    return key in found.pause or (position.paused and key not in found.resume)
