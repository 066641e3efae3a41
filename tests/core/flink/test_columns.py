"""Columns of event times, and generators fed with columns against the same fed event by event."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import VirtualTime
from lockgate.flink.columns import event_times
from lockgate.flink.generators import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    NoWatermarks,
    PunctuatedWatermarks,
    WatermarkGenerator,
)
from lockgate.flink.idleness import WatermarksWithIdleness
from lockgate.flink.sql import strategies as sql
from lockgate.watermark import MAX, MIN
from support.examples import examples
from support.streams import Written

TIMES = st.lists(st.integers(MIN, MAX) | st.integers(-50, 50), max_size=12)
GENERATORS = {
    "none": lambda time: NoWatermarks(),
    "bounded": lambda time: BoundedOutOfOrderness(Duration.of(ms=5)),
    "ascending": lambda time: AscendingTimestamps(),
    "punctuated": lambda time: PunctuatedWatermarks(),
    "idle": lambda time: WatermarksWithIdleness(BoundedOutOfOrderness(Duration.of(ms=5)), Duration.of(ms=10), time),
    "idle and punctuated": lambda time: WatermarksWithIdleness(PunctuatedWatermarks(), Duration.of(ms=10), time),
    "SQL, ascending": lambda time: sql.AscendingTimestamps(),
    "SQL, by count": lambda time: sql.BoundedOutOfOrderTimestamps(Duration.of(ms=5), every_rows=3),
    "SQL, punctuated": lambda time: sql.Punctuated(),
}


def by_event(generator: WatermarkGenerator, times: list[int], out: Written) -> None:
    for timestamp in times:
        generator.on_event(None, timestamp, out)


def by_numpy(generator: WatermarkGenerator, times: list[int], out: Written) -> None:
    generator.on_column(np.array(times, dtype=np.int64), out)


def by_arrow(generator: WatermarkGenerator, times: list[int], out: Written) -> None:
    generator.on_column(pa.chunked_array([times[:2], times[2:]], type=pa.int64()), out)


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("feed", [by_numpy, by_arrow])
@examples(100, few=8)
@given(st.lists(st.tuples(TIMES, st.integers(0, 12)), max_size=6))
def test_a_column_gives_what_its_events_give(kind: str, feed: object, story: list[tuple[list[int], int]]) -> None:
    said = []
    for take in (by_event, feed):
        time, out = VirtualTime(1), Written()
        generator = GENERATORS[kind](time)
        for times, wait in story:
            take(generator, times, out)  # type: ignore[operator]
            time.advance(wait)
            generator.on_periodic_emit(out)
        said.append(out.all)
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "column",
    [
        np.array([1_001, -1], dtype="datetime64[ms]"),
        np.array([1_001_999, -1], dtype="datetime64[us]"),
        np.array([1_001], dtype=np.uint16),
        pa.array([1_001_000_001, -1], type=pa.timestamp("ns", tz="UTC")),
        pa.chunked_array([[1_001_000], [-1]], type=pa.timestamp("us")),
        pa.array([1_001, -1], type=pa.int64()),
    ],
    ids=str,
)
def test_any_unit_is_counted_in_milliseconds_and_cut_off_below(column: np.ndarray) -> None:
    assert event_times(column).tolist() == [1_001, -1][: len(column)]


def test_seconds_and_days_are_counted_in_milliseconds() -> None:
    assert event_times(np.array([2], dtype="datetime64[s]")).tolist() == [2_000]
    assert event_times(np.array([-1], dtype="datetime64[D]")).tolist() == [-86_400_000]


def test_a_column_in_milliseconds_is_not_copied() -> None:
    column = np.array([1, 2], dtype=np.int64)
    assert event_times(column) is column


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([1.5]), "must be integers .* not float64"),
        (np.array([[1]]), "must be one column, not an array of 2 dimensions"),
        (np.array([2**63], dtype=np.uint64), "must fit into 64 bits with a sign"),
        (np.array(["NaT"], dtype="datetime64[ms]"), "must not be NaT"),
        (np.array([2**60], dtype="datetime64[D]"), "cannot be counted in 64 bits of milliseconds"),
        (pa.array([1, None], type=pa.int64()), "must not be null, but 1 of 2 are"),
        ([1, 2], "must be a numpy or an Arrow array, not list"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_column_that_is_none_of_event_times_is_refused_and_the_generator_unchanged(
    column: np.ndarray, message: str
) -> None:
    generator = BoundedOutOfOrderness(Duration.of(ms=5))
    with pytest.raises(InvalidValue, match=message):
        generator.on_column(column, Written())
    assert generator.max_timestamp == MIN + 6
