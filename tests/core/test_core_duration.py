"""Lengths of time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration, spoken, spoken_s
from lockgate.errors import InvalidValue
from lockgate.watermark import MAX


def test_a_duration_adds_up_its_parts_and_says_its_length() -> None:
    assert Duration.of(seconds=2, ms=5, nanos=1).nanos == 2_005_000_001
    assert (str(Duration.of(ms=5)), str(Duration.of(ms=5, nanos=1))) == ("5 ms", "5000001 ns")


def test_milliseconds_are_cut_off_below_and_must_fit() -> None:
    assert Duration.of(nanos=1_999_999).to_millis("delay") == 1
    assert Duration.of(ms=MAX).to_millis("delay") == MAX
    with pytest.raises(InvalidValue, match="delay: must fit into 64 bits of milliseconds, not 9223372036854775808"):
        Duration.of(ms=MAX + 1).to_millis("delay")


def test_nanoseconds_end_at_64_bits() -> None:
    assert Duration.of(seconds=MAX).to_nanos() == MAX
    assert Duration.of(ms=1).to_nanos() == 1_000_000


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (40, "40 ms"),
        (400, "0.4 s"),
        (1_000, "1 s"),
        (15_500, "15.5 s"),
        (59_999, "59.9 s"),
        (60_000, "1 min"),
        (600_000, "10 min"),
        (740_759, "12 min 20 s"),
        (3_600_000, "1 h"),
        (3_605_000, "1 h"),
        (7_500_000, "2 h 5 min"),
        (97 * 3_600_000, "4 d 1 h"),
        (10**12, "11,574 d 1 h"),
        (-61_000, "-1 min 1 s"),
    ],
)
def test_a_duration_for_a_person_has_its_two_greatest_units(ms: int, text: str) -> None:
    assert spoken(ms) == text
    assert spoken_s(ms / 1000) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_no_duration_is_a_long_figure_for_a_person(ms: int) -> None:
    assert not re.search(r"\d{5}", spoken(ms))
