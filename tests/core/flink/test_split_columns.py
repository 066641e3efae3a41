"""Columns of several splits against the same rows one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import VirtualTime
from lockgate.flink.generators import PunctuatedWatermarks
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.split_columns import SplitColumns
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MIN
from support.streams import Written

NAMES = ["a", "b", "c"]
BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=5))
STRATEGIES = {
    "bounded": BOUNDED,
    "bounded and idle": BOUNDED.with_idleness(Duration.of(ms=25)),
    "punctuated": WatermarkStrategy.for_generator(PunctuatedWatermarks),
}
ROW = st.tuples(st.integers(0, 2), st.integers(-40, 40) | st.just(MIN), st.integers(0, 25))
BATCHES = st.lists(st.lists(ROW, max_size=10), max_size=6)


def row_by_row(strategy: WatermarkStrategy, batches: list[list[tuple[int, int, int]]]) -> list[object]:
    """Return a generator a split, a multiplexer, and a timer every 10 ms that fires before the rows
    of its ms.
    """
    time, out = VirtualTime(0), Written()
    multiplexer = WatermarkOutputMultiplexer(out)
    generators = []
    for name in NAMES:
        multiplexer.register(name)
        generators.append((strategy.create_generator(time), multiplexer.immediate(name), multiplexer.deferred(name)))

    def emit(due: int) -> None:
        for generator, _, deferred in generators:
            generator.on_periodic_emit(deferred)
        multiplexer.on_periodic_emit()

    time.repeat(10, emit)
    for split, timestamp, wait in (row for batch in batches for row in batch):
        time.advance(wait)
        generators[split][0].on_event(None, timestamp, generators[split][1])
    return out.all


@pytest.mark.parametrize("kind", STRATEGIES)
@given(BATCHES)
def test_columns_of_interleaved_splits_give_what_the_rows_give(
    kind: str, batches: list[list[tuple[int, int, int]]]
) -> None:
    out, now = Written(), 0
    columns = SplitColumns(NAMES, STRATEGIES[kind], out, start_ms=0, interval_ms=10)
    for batch in batches:
        arrivals = np.cumsum([0, *(wait for _, _, wait in batch)])[1:] + now
        now = int(arrivals[-1]) if batch else now
        columns.take(
            np.array([split for split, _, _ in batch], dtype=np.uint8),
            np.array([timestamp for _, timestamp, _ in batch], dtype=np.int64),
            arrivals,
        )
    assert out.all == row_by_row(STRATEGIES[kind], batches)


def test_watermarks_are_due_without_rows_too() -> None:
    out = Written()
    columns = SplitColumns(["a"], BOUNDED, out, start_ms=0, interval_ms=10)
    columns.take(np.array([0]), np.array([100]), np.array([3]))
    assert out.all == []
    columns.advance_to(10)
    assert out.all == [94]


@pytest.mark.parametrize(
    ("splits", "times", "arrivals", "message"),
    [
        ([0, 1], [1], [1], "must be of one length, not 2, 1 and 1"),
        ([0, 3], [1, 2], [1, 2], "must lie between 0 and 2, not 0 to 3"),
        ([0.5], [1], [9], "splits: must be integers, the splits' indexes, not float64"),
        ([-1], [1], [1], "must lie between 0 and 2, not -1"),
        ([0, 0], [1, 2], [9, 8], "arrivals: must not go back"),
        ([0], [1], [4], "arrivals: must not go back, from 5 on"),
    ],
)
def test_rows_that_cannot_be_are_refused_and_none_of_them_taken(
    splits: list[float], times: list[int], arrivals: list[int], message: str
) -> None:
    out = Written()
    columns = SplitColumns(NAMES, BOUNDED, out, start_ms=0, interval_ms=10)
    columns.take(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([5, 5, 5]))
    with pytest.raises(InvalidValue, match=message):
        columns.take(np.array(splits), np.array(times, dtype=np.int64), np.array(arrivals, dtype=np.int64))
    columns.advance_to(10)
    assert out.all == [1 - 6]


def test_a_time_that_has_passed_an_interval_of_nothing_and_a_split_named_twice_are_refused() -> None:
    columns = SplitColumns(NAMES, BOUNDED, Written(), start_ms=50)
    with pytest.raises(InvalidValue, match="must not lie before 50, but is 49"):
        columns.advance_to(49)
    with pytest.raises(InvalidValue, match="interval_ms: must be more than 0, not 0"):
        SplitColumns(NAMES, BOUNDED, Written(), start_ms=0, interval_ms=0)
    with pytest.raises(InvalidValue, match="must not be named twice"):
        SplitColumns(["a", "a"], BOUNDED, Written(), start_ms=0)
