"""SQL's two operators that assign watermarks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.flink.elements import Record, WatermarkStatus
from lockgate.flink.sql.minibatch_assigner import RowtimeMiniBatchAssigner
from lockgate.flink.sql.watermark_assigner import WatermarkAssigner, bounded, timer_interval, wrapped
from lockgate.watermark import MAX, MIN
from support.streams import Written
from support.virtual_time import VirtualTime

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE
INTEGERS = st.integers(-(2**65), 2**65)


def assigner(
    *, delay_ms: int = 1, interval_ms: int = 50, idle_ms: int = 0
) -> tuple[WatermarkAssigner, VirtualTime, Written]:
    time, out = VirtualTime(0), Written()
    watermark_of = bounded(delay_ms, lambda record: record.timestamp)
    made = WatermarkAssigner(watermark_of, time, interval_ms=interval_ms, idle_timeout_ms=idle_ms)
    made.setup(out)
    made.open()
    return made, time, out


@given(
    st.lists(st.integers(-100, 1_000) | st.sampled_from(["wait", IDLE, ACTIVE]), max_size=40),
    st.sampled_from([0, 1, 50]),
)
def test_watermarks_rise_from_0_and_no_row_is_lost(story: list[int | str | WatermarkStatus], interval: int) -> None:
    made, time, out = assigner(interval_ms=interval, idle_ms=30)
    for what in story:
        if isinstance(what, int):
            made.process(0, Record("row", what))
        elif isinstance(what, WatermarkStatus):
            made.process_status(0, what)
        else:
            time.advance(20)
    assert out.watermarks == sorted(set(out.watermarks))
    assert all(watermark > 0 for watermark in out.watermarks)
    assert [what.timestamp for what in out.all if isinstance(what, Record)] == [
        what for what in story if isinstance(what, int)
    ]


def test_max_alone_of_upstreams_watermarks_goes_on_and_once() -> None:
    made, _, out = assigner()
    for timestamp in (500, MAX, MAX):
        made.process_watermark(0, timestamp)
    made.finish()
    assert out.all == [MAX]


def test_back_pressure_stops_the_clock_of_idleness() -> None:
    made, time, out = assigner(idle_ms=100)
    for started in (True, True):
        made.back_pressure(started)
    time.advance(1_000)
    assert IDLE not in out.all
    made.back_pressure(False)
    time.advance(200)
    assert IDLE in out.all


@pytest.mark.parametrize(
    ("watermark", "idle", "interval"),
    [(50, 0, 50), (0, 70, 70), (2_000, 11_000, 2_000), (50, 100, 10), (200, 1_000, 40), (3, 4, 1)],
)
def test_the_timer_runs_as_often_as_the_finer_of_both_needs(watermark: int, idle: int, interval: int) -> None:
    assert timer_interval(watermark, idle) == interval


def test_without_anything_to_time_there_is_no_interval() -> None:
    with pytest.raises(InvalidValue, match="must be above 0"):
        timer_interval(0, -1)


@given(INTEGERS)
def test_wrapped_is_what_a_long_holds(value: int) -> None:
    assert MIN <= wrapped(value) <= MAX
    assert (wrapped(value) - value) % 2**64 == 0


@given(st.lists(st.integers(0, 100), max_size=40), st.integers(1, 12))
def test_mini_batches_see_at_most_one_watermark_a_window_and_the_last_one(upstream: list[int], interval: int) -> None:
    made, out = RowtimeMiniBatchAssigner(interval), Written()
    made.setup(out)
    for timestamp in upstream:
        made.process_watermark(0, timestamp)
    windows = [(timestamp + 1) // interval for timestamp in out.watermarks]
    assert windows == sorted(set(windows))
    made.finish()
    assert out.watermarks[-1] == max([0, *upstream])


def test_a_mini_batch_passes_rows_on_and_max_every_time() -> None:
    made, out = RowtimeMiniBatchAssigner(5), Written()
    made.setup(out)
    made.process(0, Record("a", 1))
    for timestamp in (MAX, 3):
        made.process_watermark(0, timestamp)
    made.finish()
    assert out.all == [Record("a", 1), MAX, MAX, MAX]
    with pytest.raises(InvalidValue, match="interval_ms: must be more than 0, not 0"):
        RowtimeMiniBatchAssigner(0)
