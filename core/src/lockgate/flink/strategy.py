"""A watermark strategy: the generator, timestamp assigner, idle timeout and alignment of a source
(Flink's `WatermarkStrategy`). The source creates one generator for each split, each with its own
clock.

    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(seconds=5))
    strategy = strategy.with_idleness(Duration.of(seconds=60))
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import RelativeClock
from lockgate.flink.generators import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    NoWatermarks,
    PunctuatedWatermarks,
    WatermarkGenerator,
    record_timestamp,
)
from lockgate.flink.idleness import WatermarksWithIdleness, checked_timeout
from lockgate.watermark import MAX

TimestampAssigner = Callable[[object, int], int]
"""`(value, timestamp that the record came with) -> event time in ms`."""


@dataclass(frozen=True, slots=True)
class AlignmentParameters:
    """The alignment of a source: its maximum drift ahead of the slowest source of `group`.

    The source reports its watermark every `update_interval_ms`. The source is not aligned if
    `max_drift_ms` is MAX. Raises `InvalidValue` for a drift below 0 or above MAX, or an interval of
    0 or less.
    """

    group: str | None
    max_drift_ms: int
    update_interval_ms: int = 1_000

    def __post_init__(self) -> None:
        if not 0 <= self.max_drift_ms <= MAX:
            raise InvalidValue("max_drift_ms", f"must be 0 or more (and fit 64 bits), not {self.max_drift_ms}")
        if self.update_interval_ms <= 0:
            raise InvalidValue("update_interval_ms", f"must be more than 0, not {self.update_interval_ms}")

    @property
    def enabled(self) -> bool:
        return self.max_drift_ms < MAX


NOT_ALIGNED = AlignmentParameters(group=None, max_drift_ms=MAX)


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """A description of how the watermarks of a source are generated and aligned. Methods `with_…`
    return changed copies.
    """

    make_generator: Callable[[RelativeClock], WatermarkGenerator]
    assign_timestamp: TimestampAssigner = record_timestamp
    idle_timeout: Duration | None = None
    alignment: AlignmentParameters = NOT_ALIGNED

    @classmethod
    def for_generator(cls, make_generator: Callable[[], WatermarkGenerator]) -> "WatermarkStrategy":
        """Return a strategy that creates a generator for each split with `make_generator`."""
        return cls(lambda clock: make_generator())

    @classmethod
    def no_watermarks(cls) -> "WatermarkStrategy":
        """Return a strategy that emits no watermarks."""
        return cls.for_generator(NoWatermarks)

    @classmethod
    def for_monotonous_timestamps(cls) -> "WatermarkStrategy":
        """Return a strategy for event times that never decrease within a split."""
        return cls.for_generator(AscendingTimestamps)

    @classmethod
    def for_bounded_out_of_orderness(cls, delay: Duration) -> "WatermarkStrategy":
        """Return a strategy for events that are at most `delay` out of order.

        Raises `InvalidValue` if `delay` is negative or too large.
        """
        BoundedOutOfOrderness(delay)
        return cls.for_generator(lambda: BoundedOutOfOrderness(delay))

    @classmethod
    def for_punctuated(cls, watermark_of: Callable[[object, int], int | None]) -> "WatermarkStrategy":
        """Return a strategy that takes watermarks from the events themselves.

        `watermark_of(event, timestamp)` returns the event's watermark in ms, or None.
        """
        return cls.for_generator(lambda: PunctuatedWatermarks(watermark_of))

    def with_timestamp_assigner(self, assign_timestamp: TimestampAssigner) -> "WatermarkStrategy":
        """Return a copy that takes event times (ms) from `assign_timestamp(value, timestamp)`.

        `timestamp` (ms) is the one that the record came with.
        """
        return replace(self, assign_timestamp=assign_timestamp)

    def with_idleness(self, timeout: Duration) -> "WatermarkStrategy":
        """Return a copy that marks a split idle after more than `timeout` without events.

        The source's watermark does not wait for an idle split. Raises `InvalidValue` if `timeout`
        is 0 or less.
        """
        return replace(self, idle_timeout=checked_timeout(timeout))

    def with_watermark_alignment(
        self, group: str, max_drift: Duration, update_interval_ms: int = 1_000
    ) -> "WatermarkStrategy":
        """Return a copy that keeps a source within `max_drift` of the slowest source of `group`.

        The source reports its watermark every `update_interval_ms`. Raises `InvalidValue` if
        `max_drift` is negative or too large, or if the interval is 0 or less.
        """
        parameters = AlignmentParameters(group, max_drift.to_millis("max_drift"), update_interval_ms)
        return replace(self, alignment=parameters)

    def create_generator(self, clock: RelativeClock) -> WatermarkGenerator:
        """Return a generator for one split or for the main output. `clock` measures idleness."""
        generator = self.make_generator(clock)
        return generator if self.idle_timeout is None else WatermarksWithIdleness(generator, self.idle_timeout, clock)
