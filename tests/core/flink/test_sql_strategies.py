"""SQL's strategies and their text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import VirtualTime
from lockgate.flink.elements import Record
from lockgate.flink.sql.strategies import AscendingTimestamps, BoundedOutOfOrderTimestamps, Punctuated
from lockgate.flink.sql.text import WatermarkClause, parse_watermark_clause
from lockgate.watermark import MIN
from support.streams import Written


def test_sqls_bounded_form_has_no_minus_1_and_its_ascending_form_has() -> None:
    for generator, watermark in ((BoundedOutOfOrderTimestamps(Duration.of(ms=5)), 95), (AscendingTimestamps(), 99)):
        out = Written()
        generator.on_periodic_emit(out)
        generator.on_event(None, 100, out)
        generator.on_periodic_emit(out)
        assert out.all == [MIN, watermark]


def test_a_count_of_rows_brings_a_watermark_and_the_timer_begins_the_count_anew() -> None:
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


@pytest.mark.parametrize(
    ("text", "column", "delay"),
    [
        ("FOR ts AS ts", ("ts",), Duration(0)),
        ("FOR ts AS ts - INTERVAL '5' SECOND", ("ts",), Duration.of(seconds=5)),
        ("  watermark for ts as ts-interval '0.001' seconds ", ("ts",), Duration.of(ms=1)),
        (
            "FOR `event time`.at AS `event time`.at - INTERVAL '1' DAY",
            ("event time", "at"),
            Duration.of(seconds=86_400),
        ),
        (
            "FOR ts AS ts - INTERVAL '1' HOUR - INTERVAL '2' MINUTE - INTERVAL '3' MILLISECOND",
            ("ts",),
            Duration.of(seconds=3_720, ms=3),
        ),
    ],
)
def test_a_strategy_can_be_written_as_sql_writes_it(text: str, column: tuple[str, ...], delay: Duration) -> None:
    assert parse_watermark_clause(text) == WatermarkClause(column, delay)


@pytest.mark.parametrize(
    ("text", "expected", "at"),
    [
        ("", "FOR", 0),
        ("OF ts AS ts", "FOR", 0),
        ("FOR", "the name of a column", 3),
        ("FOR ts ts", "AS", 7),
        ("FOR ts AS other", "the column of FOR again", 10),
        ("FOR ts AS ts + INTERVAL '5' SECOND", "`- INTERVAL …` or the end", 13),
        ("FOR ts AS ts - 5", "INTERVAL", 15),
        ("FOR ts AS ts - INTERVAL 5 SECOND", "a number of 0 or more in quotes", 24),
        ("FOR ts AS ts - INTERVAL '-5' SECOND", "a number of 0 or more in quotes", 24),
        ("FOR ts AS ts - INTERVAL '5'", "a unit: MILLISECOND, SECOND", 27),
        ("FOR ts AS ts - INTERVAL '5' FORTNIGHT", "a unit", 28),
        ("FOR ts AS ts, x", "`- INTERVAL …` or the end", 12),
    ],
)
def test_the_error_shows_the_place_where_a_clause_cannot_be_read(text: str, expected: str, at: int) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_watermark_clause(text)
    message = str(refused.value)
    assert f"expected {expected}" in message
    assert message.splitlines()[1] == f"  {text}"
    assert message.splitlines()[2].index("^") - 2 == at


@given(st.text(max_size=30) | st.text("FORts AS-INTERVAL'5.`", max_size=40))
def test_any_other_text_is_refused_with_an_error_of_ours(text: str) -> None:
    try:
        clause = parse_watermark_clause(text)
    except InvalidValue:
        return
    assert clause.column
    assert clause.delay.nanos >= 0


def test_the_text_becomes_a_strategy_that_takes_times_from_the_column() -> None:
    strategy = parse_watermark_clause("FOR order.at AS order.at - INTERVAL '5' SECOND").strategy()
    out = Written()
    generator = strategy.create_generator(VirtualTime())
    generator.on_event(None, strategy.assign_timestamp({"order": {"at": 60_000}}, 1), out)
    generator.on_periodic_emit(out)
    assert out.all == [55_000]


def test_the_text_becomes_the_watermark_of_a_row_in_mid_stream() -> None:
    rows = parse_watermark_clause("FOR ts AS ts - INTERVAL '5' SECOND").row_watermark()
    assert rows.watermark_of(Record({"ts": 60_000})) == 55_000
    assert rows.watermark_of(Record({"ts": MIN})) == MIN - 5_000 + 2**64


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"other": 1}, "ts: is not in the row"),
        ({"ts": "noon"}, "must be an integer in ms, not 'noon'"),
        ({"ts": None}, "null"),
    ],
)
def test_a_row_without_a_time_is_refused(row: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        parse_watermark_clause("FOR ts AS ts").strategy().assign_timestamp(row, 1)
    with pytest.raises(InvalidValue, match=message):
        parse_watermark_clause("FOR ts AS ts").row_watermark().watermark_of(Record(row))
