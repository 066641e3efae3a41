"""The combined status against looking at all parts, and several inputs against two-input minima
step by step.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue, UnknownName
from lockgate.flink.combined import CombinedWatermarkStatus, IndexedCombinedWatermarkStatus, PartialWatermark
from lockgate.watermark import MIN

CHANGES = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 12) | st.booleans() | st.just("remove")), max_size=60)


@given(CHANGES)
def test_combined_is_the_minimum_of_the_active_or_the_maximum_of_idle(changes: list[tuple[int, object]]) -> None:
    combined = CombinedWatermarkStatus()
    parts = {index: combined.add() for index in range(4)}
    expected, idle = MIN, False
    for index, what in changes:
        change(combined, parts, index, what)
        rose = combined.update()
        if parts:
            active = [part.watermark for part in parts.values() if not part.idle]
            candidate = min(active) if active else max(part.watermark for part in parts.values())
            assert rose == (candidate > expected)
            expected, idle = max(expected, candidate), not active
        assert (combined.watermark, combined.idle) == (expected, idle)  # without parts both stay


def change(combined: CombinedWatermarkStatus, parts: dict[int, PartialWatermark], index: int, what: object) -> None:
    part = parts.get(index)
    if part is None:
        parts[index] = combined.add()
    elif what == "remove":
        combined.remove(parts.pop(index))
        part.set_watermark(99)  # it goes on being set, and counts no more
        part.set_idle(True)
    elif isinstance(what, bool):
        part.set_idle(what)
    else:
        assert part.set_watermark(int(str(what))) in (True, False)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=40))
def test_many_inputs_come_to_what_two_input_minima_come_to_step_by_step(watermarks: list[tuple[int, int]]) -> None:
    whole = IndexedCombinedWatermarkStatus(4)
    first, second, last = (IndexedCombinedWatermarkStatus(2) for _ in range(3))
    for index, timestamp in watermarks:
        whole.update_watermark(index, timestamp)
        pair, side = (first, 0) if index < 2 else (second, 1)
        if pair.update_watermark(index % 2, timestamp):
            last.update_watermark(side, pair.watermark)
        assert last.watermark == whole.watermark


def test_an_idle_input_holds_nobody_and_all_idle_go_as_far_as_the_highest() -> None:
    two = IndexedCombinedWatermarkStatus(2)
    two.update_watermark(0, 5)
    two.update_watermark(1, 3)
    assert (two.update_status(1, True), two.watermark, two.idle) == (True, 5, False)
    assert (two.update_status(0, True), two.watermark, two.idle) == (False, 5, True)


@pytest.mark.parametrize("index", [-1, 2])
def test_an_input_that_is_not_there_is_named_and_nothing_changes(index: int) -> None:
    two = IndexedCombinedWatermarkStatus(2)
    with pytest.raises(UnknownName, match="inputs 0 to 1"):
        two.update_watermark(index, 5)
    with pytest.raises(UnknownName, match=f"input {index} is unknown"):
        two.update_status(index, True)
    assert (two.watermark, two.idle) == (MIN, False)


def test_a_negative_number_of_inputs_is_refused() -> None:
    with pytest.raises(InvalidValue, match="inputs: must be 0 or more, not -2"):
        IndexedCombinedWatermarkStatus(-2)
