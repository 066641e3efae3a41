"""Strategies: plans for generators."""

import pytest

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.generators import AscendingTimestamps, BoundedOutOfOrderness, NoWatermarks, PunctuatedWatermarks
from lockgate.flink.idleness import WatermarksWithIdleness
from lockgate.flink.strategy import NOT_ALIGNED, AlignmentParameters, WatermarkStrategy
from lockgate.watermark import MAX
from support.virtual_time import VirtualTime


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        (WatermarkStrategy.no_watermarks(), NoWatermarks),
        (WatermarkStrategy.for_monotonous_timestamps(), AscendingTimestamps),
        (WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=5)), BoundedOutOfOrderness),
        (WatermarkStrategy.for_punctuated(lambda event, timestamp: None), PunctuatedWatermarks),
    ],
)
def test_each_split_gets_a_generator_of_its_own(strategy: WatermarkStrategy, kind: type) -> None:
    one, other = strategy.create_generator(VirtualTime()), strategy.create_generator(VirtualTime())
    assert (type(one), type(other)) == (kind, kind)
    assert one is not other


def test_with_idleness_wraps_any_generator_and_keeps_the_strategy() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    with_idleness = plain.with_idleness(Duration.of(seconds=60))
    made = with_idleness.create_generator(VirtualTime())
    assert isinstance(made, WatermarksWithIdleness)
    assert isinstance(made.inner, AscendingTimestamps)
    assert isinstance(plain.create_generator(VirtualTime()), AscendingTimestamps)


def test_event_times_come_with_the_record_unless_told_otherwise() -> None:
    plain = WatermarkStrategy.no_watermarks()
    assert plain.assign_timestamp({"ts": 7}, 5) == 5
    assert plain.with_timestamp_assigner(lambda value, timestamp: 9).assign_timestamp({"ts": 7}, 5) == 9


def test_alignment_is_off_until_asked_for() -> None:
    plain = WatermarkStrategy.no_watermarks()
    assert plain.alignment is NOT_ALIGNED
    assert not plain.alignment.enabled
    aligned = plain.with_watermark_alignment("group", Duration.of(seconds=30)).alignment
    assert aligned == AlignmentParameters("group", 30_000, 1_000)
    assert aligned.enabled
    assert AlignmentParameters("group", MAX - 1).enabled


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration(-1)), "delay: must be 0 or more, not -1 ns"),
        (
            lambda: WatermarkStrategy.no_watermarks().with_idleness(Duration(0)),
            "idle_timeout: must be more than 0, not 0 ms",
        ),
        (lambda: AlignmentParameters("group", -1), "max_drift_ms: must be 0 or more"),
        (lambda: AlignmentParameters("group", 1, 0), "update_interval_ms: must be more than 0, not 0"),
    ],
)
def test_an_impossible_value_is_refused_when_the_strategy_is_made(make: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()  # type: ignore[operator]
