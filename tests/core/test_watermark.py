"""Arithmetic on watermarks, at both ends."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN, add, instant

WATERMARKS = st.integers(MIN, MAX) | st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX])


@given(WATERMARKS, WATERMARKS)
def test_adding_never_wraps_and_never_leaves_64_bits(watermark: int, milliseconds: int) -> None:
    total = add(watermark, milliseconds)
    assert MIN <= total <= MAX
    if watermark not in (MIN, MAX):
        assert total == sorted([MIN, watermark + milliseconds, MAX])[1]


@given(WATERMARKS, WATERMARKS, WATERMARKS)
def test_the_earlier_watermark_stays_the_earlier_one(one: int, other: int, milliseconds: int) -> None:
    if not {one, other} & {MIN, MAX}:
        assert (add(min(one, other), milliseconds)) <= add(max(one, other), milliseconds)


@given(WATERMARKS)
def test_the_ends_absorb(milliseconds: int) -> None:
    assert (add(MIN, milliseconds), add(MAX, milliseconds)) == (MIN, MAX)


def test_an_event_time_for_a_person_is_an_instant_or_words() -> None:
    assert instant(0) == "1970-01-01T00:00:00.000Z"
    assert (instant(MIN), instant(MIN, "nothing")) == ("no event time yet", "nothing")
    assert (instant(MAX), instant(MAX, unbounded="open")) == ("the end of all event time", "open")
    assert (instant(MAX - 1), instant(MIN + 1)) == ("after the year 9999", "before the year 1")
