"""SQL's watermark assigner: event time from a column, in the middle of a table plan (Flink's
`WatermarkAssignerOperator`). It replaces the watermarks from upstream. The rules:

1. The expression of the table's `WATERMARK FOR` gives a row's watermark. For `ts - INTERVAL …` this
   is time − delay, *without* the − 1 of the DataStream form, and it wraps around beyond 64 bits.
   The row is passed on before its watermark.
2. Watermarks start at 0, so a negative one is never emitted. They only rise.
3. If a row raises the watermark to more than an interval above the last emitted one, the watermark
   is emitted at once, since the timer may be late under load. Otherwise it waits for the timer. If
   the interval is 0, every rise is emitted at once.
4. The timer's period follows from the interval and the idle timeout. If only one of the two is
   above 0, the period is that one. If one is more than five times the other, the period is the
   smaller of the two. Otherwise the period is a fifth of the smaller one, at least 1 ms.
5. The stream becomes idle when no row has come for the idle timeout or longer (*not* strictly
   longer, unlike the DataStream form). The clock that measures this is paused under back pressure.
   A row ends idleness. Statuses from upstream are passed on, and become the stream's own.
6. Of the watermarks from upstream, only MAX is passed on, once, as the end of the input. `finish`
   sends MAX too, unless it was sent before.
"""

from collections.abc import Callable

from lockgate.duration import NANOS_PER_MILLI
from lockgate.errors import InvalidValue
from lockgate.flink.clocks import PausableClock, ProcessingTime
from lockgate.flink.elements import Record, Watermark, WatermarkStatus
from lockgate.flink.propagation.operators import Operator
from lockgate.watermark import MAX

RowWatermark = Callable[[Record], int | None]
"""A function that returns the watermark of a row, or None if it brings none."""


def wrapped(value: int) -> int:
    """Wrap `value` around to 64 bits, like Java's long. (`lockgate.watermark.add` saturates.)"""
    return (value + 2**63) % 2**64 - 2**63


def bounded(delay_ms: int, event_time: Callable[[Record], int | None]) -> RowWatermark:
    """Return a function that returns `event_time(row)` − `delay_ms` as a row's watermark (ms). It
    raises `InvalidValue` if the event time is None.
    """

    def watermark_of(record: Record) -> int:
        timestamp = event_time(record)
        if timestamp is None:
            raise InvalidValue("event time", "must not be null: convert the column to one that never is")
        return wrapped(timestamp - delay_ms)

    return watermark_of


def timer_interval(watermark_interval_ms: int, idle_timeout_ms: int) -> int:
    """Return the timer's period (ms) by rule 4. Raises `InvalidValue` if no value is above 0."""
    positive = [interval for interval in (watermark_interval_ms, idle_timeout_ms) if interval > 0]
    if not positive:
        raise InvalidValue("watermark_interval_ms", "or the idle timeout must be above 0 for there to be a timer")
    smaller, larger = min(positive), max(positive)
    if len(positive) == 1 or smaller * 5 < larger:
        return smaller
    return max(smaller // 5, 1)


class WatermarkAssigner(Operator):
    """SQL's watermark assigner. If `interval_ms` is 0, every rise is emitted at once. If
    `idle_timeout_ms` is 0, a lack of rows does not make the stream idle.
    """

    def __init__(
        self, watermark_of: RowWatermark, time: ProcessingTime, *, interval_ms: int, idle_timeout_ms: int
    ) -> None:
        super().__init__()
        self._watermark_of = watermark_of
        self._interval_ms = interval_ms
        self._idle_timeout_ms = idle_timeout_ms
        self._time = time
        self._activity = PausableClock(time)
        self._back_pressured = False
        self._rows = 0
        self._rows_at_last_check = -1
        self._current = 0
        self._last = 0
        self._status = WatermarkStatus.ACTIVE
        self._last_emission_ms = 0
        self._last_activity_ms = 0

    def open(self) -> None:
        self._last_emission_ms = self._time.now_ms()
        self._last_activity_ms = self._active_ms()
        if self._interval_ms > 0 or self._idle_timeout_ms > 0:
            self._set_timer()

    def process(self, index: int, record: Record) -> None:
        """Take a row (rules 1 to 3, 5). If `watermark_of` raises, the row is not passed on."""
        self._rows += 1
        self._end_idleness()
        watermark = self._watermark_of(record)
        if watermark is not None:
            self._current = max(self._current, watermark)
        self.output.emit(record)
        if self._current - self._last > self._interval_ms:
            self._advance()

    def process_watermark(self, index: int, timestamp: int) -> None:
        """Take a watermark from upstream (rule 6)."""
        if timestamp == MAX and self._current != MAX:
            self._end_idleness()
            self._current = MAX
            self.output.emit(Watermark(MAX))

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Pass on a status from upstream, which becomes the stream's own (rule 5)."""
        self._status = status
        self.output.emit(status)

    def finish(self) -> None:
        self.process_watermark(0, MAX)

    def back_pressure(self, started: bool) -> None:
        if started == self._back_pressured:
            return
        self._back_pressured = started
        if started:
            self._activity.pause()
        else:
            self._activity.resume()

    def _advance(self) -> None:
        if self._current > self._last:
            self._last = self._current
            self.output.emit(Watermark(self._current))

    def _end_idleness(self) -> None:
        if self._idle_timeout_ms > 0 and self._status is WatermarkStatus.IDLE:
            self.process_status(0, WatermarkStatus.ACTIVE)

    def _on_timer(self, due: int) -> None:
        now = self._time.now_ms()
        if self._interval_ms > 0 and self._last_emission_ms + self._interval_ms <= now:
            self._last_emission_ms = now
            self._advance()
        active = self._active_ms()
        if self._rows != self._rows_at_last_check:
            self._rows_at_last_check = self._rows
            self._last_activity_ms = active
        quiet = self._last_activity_ms + self._idle_timeout_ms <= active
        if self._idle_timeout_ms > 0 and self._status is WatermarkStatus.ACTIVE and quiet:
            self.process_status(0, WatermarkStatus.IDLE)
        self._set_timer()

    def _set_timer(self) -> None:
        self._time.set_timer(
            self._time.now_ms() + timer_interval(self._interval_ms, self._idle_timeout_ms), self._on_timer
        )

    def _active_ms(self) -> int:
        return self._activity.relative_nanos() // NANOS_PER_MILLI
