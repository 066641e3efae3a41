"""Watermark strategies of Flink's SQL. They are generators like any other
(`lockgate.flink.generators`).

* Periodic (`PeriodicWatermarkAssigner`): a watermark comes after an interval *or* after a number of
  rows, whichever is first. With time alone, a watermark comes too late when there are many rows.
  With a number of rows alone, a watermark comes too late when there are few rows.
* Per event (`PunctuatedWatermarkAssigner`): each row may bring a watermark.
* `PreserveWatermarks` generates no watermarks of its own. A plain
  `lockgate.flink.propagation.operators.Operator` does the same.
"""

from collections.abc import Callable

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import WatermarkOutput
from lockgate.flink.generators import PunctuatedWatermarks, WatermarkGenerator
from lockgate.watermark import MIN


class BoundedOutOfOrderTimestamps(WatermarkGenerator):
    """A generator whose watermark is the highest event time so far − delay.

    Unlike Flink's DataStream generator, this one does not subtract another 1 ms, so a row that is
    exactly `delay` behind is late. The generator emits at each interval and, unless `every_rows` is
    None, after that many rows since the last emission. Raises `InvalidValue` for a negative or too
    large `delay`, and for `every_rows` below 1.
    """

    def __init__(self, delay: Duration, every_rows: int | None = None) -> None:
        if delay.nanos < 0:
            raise InvalidValue("delay", f"must be 0 or more, not {delay}")
        if every_rows is not None and every_rows < 1:
            raise InvalidValue("every_rows", f"must be 1 or more, or None, not {every_rows}")
        self.only_highest_counts = every_rows is None
        self._delay_ms = delay.to_millis("delay")
        self._every_rows = every_rows
        self._rows = 0
        self._highest = MIN

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        self._highest = max(self._highest, timestamp)
        self._rows += 1
        if self._rows == self._every_rows:
            self.on_periodic_emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._rows = 0
        output.emit_watermark(max(MIN, self._highest - self._delay_ms))


class AscendingTimestamps(BoundedOutOfOrderTimestamps):
    """A generator whose watermark is the highest event time so far − 1 ms, since other rows may
    have the same event time. `every_rows` is as in `BoundedOutOfOrderTimestamps`.
    """

    def __init__(self, every_rows: int | None = None) -> None:
        super().__init__(Duration.of(ms=1), every_rows)


class Punctuated(PunctuatedWatermarks):
    """A generator that emits `watermark_of(row, event time)` (ms) for each row, unless it is None.
    By default, it emits a row's event time if that is the highest so far.
    """

    def __init__(self, watermark_of: Callable[[object, int], int | None] | None = None) -> None:
        super().__init__(watermark_of or self._if_it_rises)
        self._highest = MIN

    def _if_it_rises(self, event: object, timestamp: int) -> int | None:
        if timestamp <= self._highest:
            return None
        self._highest = timestamp
        return timestamp
