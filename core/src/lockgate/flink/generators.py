"""Watermark generators, which turn event times into watermarks (Flink's `WatermarkGenerator`).

A generator may emit for each event (`on_event`) or at each interval (`on_periodic_emit`, every 200
ms by default). Its watermarks need not rise, since the receiver drops those that do not.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import WatermarkOutput
from lockgate.watermark import MIN


class WatermarkGenerator(ABC):
    """The base class of generators, which turn event times into watermarks."""

    only_highest_counts = False
    """Whether the highest of many event times is all that the generator needs."""

    @abstractmethod
    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """Handle an event that the source has just passed on, with its event time `timestamp` (ms).
        The generator may emit a watermark to `output`.
        """

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark to `output`, if there is one. This is called at each interval."""


class NoWatermarks(WatermarkGenerator):
    """A generator that never emits, for processing-time jobs."""

    only_highest_counts = True

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


class BoundedOutOfOrderness(WatermarkGenerator):
    """A periodic generator for events that are at most `delay` out of order.

    The watermark is the highest event time − delay − 1, with the delay rounded down to whole
    milliseconds. Before the first event, it is MIN. Raises `InvalidValue` if `delay` is negative or
    does not fit into 64 bits of milliseconds.
    """

    only_highest_counts = True

    def __init__(self, delay: Duration) -> None:
        if delay.nanos < 0:
            raise InvalidValue("delay", f"must be 0 or more, not {delay}")
        self._delay_ms = delay.to_millis("delay")
        # The first watermark is then MIN, and not below it.
        self.max_timestamp = MIN + self._delay_ms + 1

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        self.max_timestamp = max(self.max_timestamp, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.max_timestamp - self._delay_ms - 1)


class AscendingTimestamps(BoundedOutOfOrderness):
    """A generator for event times that never decrease within a split, with a delay of 0."""

    def __init__(self) -> None:
        super().__init__(Duration(0))


def record_timestamp(value: object, timestamp: int) -> int:
    """Return the record's own timestamp (ms), such as Kafka's. This is the default assigner."""
    return timestamp


class PunctuatedWatermarks(WatermarkGenerator):
    """A generator that emits `watermark_of(event, timestamp)` (ms) for each event, unless it is
    None. By default, the watermark is the event time.
    """

    def __init__(self, watermark_of: Callable[[object, int], int | None] = record_timestamp) -> None:
        self._watermark_of = watermark_of

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        watermark = self._watermark_of(event, timestamp)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...
