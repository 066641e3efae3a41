"""Arithmetic on watermarks, at both ends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN, add

WATERMARKS = st.integers(MIN, MAX) | st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX])


@settings(deadline=None)
@given(WATERMARKS, WATERMARKS)
def test_adding_never_wraps_and_never_leaves_64_bits(watermark: int, milliseconds: int) -> None:
    total = add(watermark, milliseconds)
    assert MIN <= total <= MAX
    if watermark not in (MIN, MAX):
        assert total == sorted([MIN, watermark + milliseconds, MAX])[1]


@settings(deadline=None)
@given(WATERMARKS, WATERMARKS, WATERMARKS)
def test_the_earlier_watermark_stays_the_earlier_one(one: int, other: int, milliseconds: int) -> None:
    if not {one, other} & {MIN, MAX}:
        assert (add(min(one, other), milliseconds)) <= add(max(one, other), milliseconds)


@settings(deadline=None)
@given(WATERMARKS)
def test_the_ends_absorb(milliseconds: int) -> None:
    assert (add(MIN, milliseconds), add(MAX, milliseconds)) == (MIN, MAX)
