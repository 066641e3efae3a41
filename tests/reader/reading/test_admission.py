"""The one decision of a reader: how far it reads, and what Kafka's client pauses meanwhile."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN
from lockgate_reader.place import Key
from lockgate_reader.reading import admission
from lockgate_reader.reading.admission import LEAST_KEPT, MOST_KEPT


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
read_limit: Any = admission.read_limit
turned: Any = admission.turned
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
    assert read_limit(positions.values(), MAX, DRIFT) == limit
    assert read_limit(positions.values(), 50, DRIFT) == min(50, limit)


def test_idle_split_limits_nobody() -> None:
    positions = {A: Position(idle=True), B: Position(900)}
    assert read_limit(positions.values(), MAX, DRIFT) == 910


@given(POSITIONS, st.just(MAX) | TIMES, st.integers(1, 1_000))
def test_limit_is_never_above_the_ceiling_and_lets_the_lowest_read(
    positions: dict[Key, Position], ceiling: int, drift: int
) -> None:
    limit = read_limit(positions.values(), ceiling, drift)
    assert limit <= ceiling
    counting = [each for each in positions.values() if not each.idle]
    if counting and all(each.next_time is not None for each in counting):
        assert limit == ceiling or any((each.next_time or 0) <= limit for each in counting)


@given(POSITIONS)
def test_splits_pause_when_full_and_resume_half_empty(positions: dict[Key, Position]) -> None:
    found = turned(positions.values())
    most = max(LEAST_KEPT, MOST_KEPT // len(positions))
    for each in positions.values():
        assert any(each is one for one in found) == (each.kept <= most // 2 if each.paused else each.kept > most)
    for each in found:
        each.paused = not each.paused
    assert turned(positions.values()) == []
