"""Event time assigned in mid-stream."""

import pytest

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import Record, Watermark, WatermarkStatus
from lockgate.flink.generators import AscendingTimestamps, PunctuatedWatermarks
from lockgate.flink.propagation.assigners import TimestampsAndWatermarksOperator
from lockgate.flink.propagation.network import Network, Task
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.sql.minibatch_assigner import RowtimeMiniBatchAssigner
from lockgate.flink.sql.watermark_assigner import WatermarkAssigner, bounded
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX
from support.streams import Written
from support.virtual_time import VirtualTime

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


def through(operator: Operator) -> tuple[Network, Task, Written]:
    network, out = Network(), Written()
    source, task = network.source("source"), network.add("assigner", operator)
    network.connect([source], [task])
    network.collect([task], out)
    network.start()
    return network, source, out


def test_event_time_from_upstream_is_replaced_but_for_max() -> None:
    time = VirtualTime()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=5)).with_timestamp_assigner(
        lambda value, timestamp: int(str(value))
    )
    network, source, out = through(TimestampsAndWatermarksOperator(strategy, time))
    source.output.emit(Watermark(500))
    source.output.emit(IDLE)
    source.output.emit(ACTIVE)
    source.output.emit(Record("100", 3))
    network.run()
    time.advance(400)
    source.output.emit(Watermark(MAX))
    network.run()
    assert out.all == [Record("100", 100), 94, MAX]


def test_an_interval_of_0_asks_the_generator_per_event_only() -> None:
    for generator, watermarks in ((PunctuatedWatermarks, [7]), (AscendingTimestamps, [])):
        time, strategy = VirtualTime(), WatermarkStrategy.for_generator(generator)
        network, source, out = through(TimestampsAndWatermarksOperator(strategy, time, interval_ms=0))
        source.output.emit(Record("a", 7))
        network.run()
        time.advance(10_000)
        assert out.watermarks == watermarks


def test_quiet_stream_grows_idle_by_its_strategy_and_wakes_again() -> None:
    time = VirtualTime(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of(ms=500))
    network, source, out = through(TimestampsAndWatermarksOperator(strategy, time))
    source.output.emit(Record("a", 7))
    network.run()
    time.advance(2_000)
    source.output.emit(Record("b", 8))
    network.run()
    time.advance(200)
    assert out.all == [Record("a", 7), 6, IDLE, Record("b", 8), ACTIVE, 7]


def test_preserved_watermarks_and_statuses_go_on_as_they_are() -> None:
    network, source, out = through(Operator())
    source.output.emit(Record("a", 7))
    source.output.emit(Watermark(5))
    source.output.emit(IDLE)
    network.run()
    assert out.all == [Record("a", 7), 5, IDLE]


def test_sql_assigns_in_mid_stream() -> None:
    time = VirtualTime()
    watermark_of = bounded(1_000, lambda record: int(str(record.value)))
    assigner = WatermarkAssigner(watermark_of, time, interval_ms=200, idle_timeout_ms=0)
    network, source, out = through(assigner)
    source.output.emit(Watermark(99_999))
    source.output.emit(Record("60000", 1))
    source.output.emit(IDLE)
    source.output.emit(ACTIVE)
    source.output.emit(Watermark(MAX))
    network.run()
    assert out.all == [Record("60000", 1), 59_000, IDLE, ACTIVE, MAX]


def test_mini_batches_thin_watermarks_out() -> None:
    network, source, out = through(RowtimeMiniBatchAssigner(10))
    for timestamp in (3, 8, 9, 12, 18, 21):
        source.output.emit(Watermark(timestamp))
    network.run()
    assert out.all == [9, 21]


def test_a_negative_interval_is_refused() -> None:
    with pytest.raises(InvalidValue, match="interval_ms: must be 0"):
        TimestampsAndWatermarksOperator(WatermarkStrategy.no_watermarks(), VirtualTime(), interval_ms=-1)
