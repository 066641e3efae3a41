"""SQL's strategies."""

import pytest

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import Record
from lockgate.flink.sql.strategies import AscendingTimestamps, BoundedOutOfOrderTimestamps, Punctuated
from lockgate.flink.sql.watermark_assigner import bounded
from lockgate.watermark import MIN
from support.streams import Written


def test_sqls_bounded_form_has_no_minus_1_and_its_ascending_form_has() -> None:
    for generator, watermark in ((BoundedOutOfOrderTimestamps(Duration.of(ms=5)), 95), (AscendingTimestamps(), 99)):
        out = Written()
        generator.on_periodic_emit(out)
        generator.on_event(None, 100, out)
        generator.on_periodic_emit(out)
        assert out.all == [MIN, watermark]


def test_count_of_rows_brings_a_watermark_and_begins_again_at_the_timer() -> None:
    out = Written()
    generator = AscendingTimestamps(every_rows=3)
    for timestamp in (1, 2, 3, 4):
        generator.on_event(None, timestamp, out)
    assert out.all == [2]
    generator.on_periodic_emit(out)
    for timestamp in (5, 6, 7):
        generator.on_event(None, timestamp, out)
    assert out.all == [2, 3, 6]


def test_each_time_that_rises_brings_a_watermark() -> None:
    out = Written()
    generator = Punctuated()
    for timestamp in (5, 5, 3, 6):
        generator.on_event(None, timestamp, out)
    assert out.all == [5, 6]


def test_an_impossible_count_or_delay_is_refused() -> None:
    with pytest.raises(InvalidValue, match="every_rows: must be 1 or more, or None, not 0"):
        AscendingTimestamps(every_rows=0)
    with pytest.raises(InvalidValue, match="delay: must be 0 or more, not -1 ms"):
        BoundedOutOfOrderTimestamps(Duration.of(ms=-1))


def test_a_watermark_of_a_row_wraps_around_and_needs_a_time() -> None:
    assert bounded(5_000, lambda record: MIN)(Record("row")) == MIN - 5_000 + 2**64
    with pytest.raises(InvalidValue, match="event time: must not be null"):
        bounded(5_000, lambda record: None)(Record("row"))
