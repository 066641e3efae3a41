"""The watermark of one split: what raises it, and when nobody waits for the split."""

from collections.abc import Sequence

from lockgate.duration import Duration
from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MIN
from lockgate_reader.reading.split import FetchedRecords, SplitWatermark

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


def watermark(*times: int, strategy: WatermarkStrategy = MONOTONOUS) -> SplitWatermark:
    """Of a split whose records with these times were returned at once."""
    made = SplitWatermark(strategy)
    if times:
        returned(made, times, *times)
    return made


def returned(split: SplitWatermark, messages: Sequence[object], *times: int) -> None:
    split.returned(FetchedRecords(list(messages), list(times)), 0, len(times))


def test_split_without_event_times_is_waited_for_until_its_end() -> None:
    split = watermark(NO_TIMESTAMP)
    assert (split.value, split.idle) == (MIN, False)
    split.silent(None)
    assert split.idle
    returned(split, (1, 2), NO_TIMESTAMP, NO_TIMESTAMP)
    assert split.idle


def test_first_event_time_makes_others_wait_for_a_split_again() -> None:
    split = watermark(NO_TIMESTAMP)
    split.silent(None)
    returned(split, (1, 2), 70, NO_TIMESTAMP)
    assert (split.value, split.idle) == (69, False)
    returned(split, (3,), NO_TIMESTAMP)
    split.silent(None)
    assert (split.value, split.idle) == (69, False)


def test_record_that_waits_ends_idleness_and_counts_below_itself() -> None:
    split = watermark(NO_TIMESTAMP)
    split.silent(None)
    split.waits("record", 70)
    assert (split.value, split.idle) == (69, False)


def test_record_that_waits_is_not_late_by_a_punctuated_strategy() -> None:
    seen: list[object] = []

    def watermark_of(event: object, timestamp: int) -> int:
        seen.append(event)
        return timestamp

    split = watermark(strategy=WatermarkStrategy.for_punctuated(watermark_of))
    split.waits("a", 70)
    split.waits("a", 70)
    assert split.value == 69
    returned(split, ("a", "b"), 70, 80)
    assert (split.value, seen) == (80, ["a", "b"])


def test_silent_split_follows_its_horizon_and_empty_one_without_it_stays() -> None:
    split = watermark(50)
    split.silent(1_000)
    split.silent(900)
    assert (split.value, split.idle) == (1_000, False)
    empty = watermark()
    empty.silent(None)
    assert (empty.value, empty.idle) == (MIN, False)


def test_idle_timeout_of_a_strategy_makes_no_split_idle_by_silence() -> None:
    split = watermark(50, strategy=MONOTONOUS.with_idleness(Duration.of(ms=1)))
    for _ in range(5):
        split.emit()
    assert not split.idle
