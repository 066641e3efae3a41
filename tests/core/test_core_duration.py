"""Lengths of time."""

import pytest

from lockgate.duration import Duration
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
