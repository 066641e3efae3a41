"""SQL's mini-batch assigner by event time (Flink's `RowTimeMiniBatchAssginerOperator`).

Operators that collect rows in mini-batches process a batch when a watermark comes. So the assigner
sends at most one watermark for each interval of event time. It sends the highest watermark so far,
at least 0, once this watermark reaches the last millisecond of the current interval. `finish` sends
the highest watermark in any case. After MAX, every further watermark sends MAX again, as in Flink.
"""

from lockgate.errors import InvalidValue
from lockgate.flink.elements import Watermark
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.sql.watermark_assigner import wrapped
from lockgate.watermark import MAX


class RowtimeMiniBatchAssigner(Operator):
    """The operator that sends at most one watermark for each `interval_ms` of event time. Raises
    `InvalidValue` if the interval is 0 or less.
    """

    def __init__(self, interval_ms: int) -> None:
        super().__init__()
        if interval_ms <= 0:
            raise InvalidValue("interval_ms", f"must be more than 0, not {interval_ms}")
        self._interval_ms = interval_ms
        self._current = 0
        self._next = self._window_end(0)

    def process_watermark(self, index: int, timestamp: int) -> None:
        if timestamp == MAX and self._current != MAX:
            self._current = MAX
            self.output.emit(Watermark(MAX))
            return
        self._current = max(self._current, timestamp)
        if self._current >= self._next:
            self.output.emit(Watermark(self._current))
            end = self._window_end(self._current)
            self._next = end if end > self._current else wrapped(end + self._interval_ms)

    def finish(self) -> None:
        self.output.emit(Watermark(self._current))

    def _window_end(self, timestamp: int) -> int:
        shifted = wrapped(timestamp + self._interval_ms)
        remainder = abs(shifted) % self._interval_ms  # with the sign of the dividend, as in Java
        start = wrapped(timestamp - (remainder if shifted >= 0 else -remainder))
        return wrapped(start + self._interval_ms - 1)
