"""Watermark generators: from the event times seen to the watermark claimed (Flink's
`WatermarkGenerator`; seeds 002 and 003).

A generator looks at each event and may emit at once (`on_event`), or when it is asked every so
often (`on_periodic_emit`, every 200 ms by default). What it emits need not rise; the receiver
filters. The generators here are Flink's:

- bounded out-of-orderness: an event may come up to `delay` after a later one, so once t has been
  seen nothing at or below t − delay − 1 is still to come. (− 1: an event *at* t − delay may be.)
  Periodic; emits on every call, also an unchanged value, and MIN before the first event. The delay
  counts in whole milliseconds;
- ascending (monotonous) timestamps: bounded with a delay of 0;
- punctuated: an event itself may carry a watermark. Per event;
- none: never says anything.

Write your own by deriving from `WatermarkGenerator`. `on_column` takes a whole column of event
times (numpy or Arrow) and does what `on_event` would do row by row; a generator of your own has it
from its base class, the ones here do it in one go.

Used by `lockgate.flink.strategy`, and through it by the event-time logic of sources and by
assigners in mid-stream.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import WatermarkOutput
from lockgate.watermark import MIN

if TYPE_CHECKING:  # numpy is an extra: only who passes columns needs it
    from lockgate.flink.columns import TimeColumn


class WatermarkGenerator(ABC):
    """Turns event times into watermarks."""

    only_highest_counts = False
    """Whether of many events it is enough to be told the one with the highest time. Not if it emits
    per event, or counts.
    """

    @abstractmethod
    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """Called for each event, after it went on."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called every so often."""

    def on_column(self, timestamps: "TimeColumn", output: WatermarkOutput) -> None:
        """As `on_event` for each row in turn; there are no events to look at, only times: `event`
        is None.
        """
        from lockgate.flink.columns import event_times

        for timestamp in event_times(timestamps).tolist():
            self.on_event(None, timestamp, output)


class NoWatermarks(WatermarkGenerator):
    """Never emits: for processing-time jobs."""

    only_highest_counts = True

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """Nothing."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing."""

    def on_column(self, timestamps: "TimeColumn", output: WatermarkOutput) -> None:
        """Nothing, whatever the column holds."""


class BoundedOutOfOrderness(WatermarkGenerator):
    """The highest event time − delay − 1. Raises `InvalidValue` for a negative delay, or one beyond
    64 bits of milliseconds.
    """

    only_highest_counts = True

    def __init__(self, delay: Duration) -> None:
        if delay.nanos < 0:
            raise InvalidValue("delay", f"must be 0 or more, not {delay}")
        self._delay_ms = delay.to_millis("delay")
        # so that the first emission is MIN and never below it
        self.max_timestamp = MIN + self._delay_ms + 1

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """Remember the highest event time."""
        self.max_timestamp = max(self.max_timestamp, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """The watermark, also if it has not changed."""
        output.emit_watermark(self.max_timestamp - self._delay_ms - 1)

    def on_column(self, timestamps: "TimeColumn", output: WatermarkOutput) -> None:
        """The highest event time of the column is all that counts."""
        from lockgate.flink.columns import event_times

        times = event_times(timestamps)
        if len(times):
            self.max_timestamp = max(self.max_timestamp, int(times.max()))


class AscendingTimestamps(BoundedOutOfOrderness):
    """For event times that never fall within a split: bounded out-of-orderness with a delay of
    0.
    """

    def __init__(self) -> None:
        super().__init__(Duration(0))


def _its_own_time(event: object, timestamp: int) -> int:
    return timestamp


class PunctuatedWatermarks(WatermarkGenerator):
    """Per event: `watermark_of(event, timestamp)` emits what it returns, or nothing for None; by
    default each event's own time.
    """

    def __init__(self, watermark_of: Callable[[object, int], int | None] = _its_own_time) -> None:
        self._watermark_of = watermark_of

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """The event's watermark, if it carries one."""
        watermark = self._watermark_of(event, timestamp)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing: all is said per event."""
