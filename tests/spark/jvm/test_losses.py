"""Which rows a windowed aggregation drops, against Spark's rule for each row's own window."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate_spark.jvm.losses import Tumbling

MICROS = st.integers(-(10**6), 10**6)


def end_of_window(at: int, size: int, offset: int) -> int:
    """As Spark's TimeWindowing makes it: a remainder below 0 is lifted by one window."""
    remainder = (at - offset) - size * int((at - offset) / size)  # of a division toward 0, as in Java
    return at - (remainder + size if remainder < 0 else remainder) + size


@given(at=MICROS, watermark=MICROS, size=st.integers(1, 1_000), offset=st.integers(-999, 999))
def test_row_is_lost_if_its_window_ends_at_or_below_the_watermark(
    at: int, watermark: int, size: int, offset: int
) -> None:
    lost = at <= Tumbling(size, offset).closed_below(watermark)
    assert lost == (end_of_window(at, size, offset) <= watermark)


@given(at=MICROS, watermark=MICROS)
def test_without_windows_a_row_is_lost_at_the_watermark_and_below(at: int, watermark: int) -> None:
    assert (at <= Tumbling().closed_below(watermark)) == (at <= watermark)
