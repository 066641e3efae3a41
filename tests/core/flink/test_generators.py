"""Generators, event by event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.generators import BoundedOutOfOrderness, PunctuatedWatermarks, WatermarkGenerator
from lockgate.watermark import MAX, MIN
from support.streams import Written

TIMES = st.lists(st.integers(MIN, MAX) | st.integers(-50, 50), max_size=30)


def emitted(generator: WatermarkGenerator, times: list[int]) -> list[object]:
    out = Written()
    for timestamp in times:
        generator.on_event(None, timestamp, out)
        generator.on_periodic_emit(out)
    return out.all


@given(TIMES, st.integers(0, MAX))
def test_bounded_claims_the_highest_time_less_delay_and_one(times: list[int], delay: int) -> None:
    claims = emitted(BoundedOutOfOrderness(Duration.of(ms=delay)), times)
    highest = [max(times[: end + 1]) for end in range(len(times))]
    assert claims == [max(MIN, timestamp - delay - 1) for timestamp in highest]


@given(TIMES)
def test_no_event_within_the_delay_is_late(times: list[int]) -> None:
    generator, out = BoundedOutOfOrderness(Duration.of(ms=7)), Written()
    for timestamp in times:
        generator.on_periodic_emit(out)
        generator.on_event(None, timestamp, out)
        assert timestamp > out.watermarks[-1] or timestamp == MIN or timestamp < generator.max_timestamp - 7


def test_a_delay_counts_in_whole_milliseconds() -> None:
    assert emitted(BoundedOutOfOrderness(Duration.of(nanos=1_999_999)), [100]) == [98]


def test_punctuated_events_carry_their_watermark_or_none() -> None:
    marks = PunctuatedWatermarks(lambda event, timestamp: timestamp if timestamp % 2 else None)
    assert emitted(marks, [1, 2, 5]) == [1, 5]
    assert emitted(PunctuatedWatermarks(), [3, 2]) == [3, 2]


def test_a_delay_that_cannot_be_is_refused_with_its_value() -> None:
    with pytest.raises(InvalidValue, match="delay: must be 0 or more, not -1 ms"):
        BoundedOutOfOrderness(Duration.of(ms=-1))
    with pytest.raises(InvalidValue, match="must fit into 64 bits of milliseconds"):
        BoundedOutOfOrderness(Duration.of(seconds=MAX))
