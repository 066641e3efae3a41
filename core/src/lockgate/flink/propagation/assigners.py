"""Operators that assign event time in mid-stream (Flink's `TimestampsAndWatermarksOperator`, and
SQL's).

From here on the stream has the event time of *this* strategy, in the place of the one from
upstream. Timestamps are assigned anew. Watermarks from upstream are dropped, except MAX: it is the
end of the input and must not be lost. Statuses from upstream are dropped. The watermarks that go
out only rise. With a periodic interval of 0 the generator is asked per event only.
`PreserveWatermarks` assigns nothing: all goes on as it is.

Used in networks (`lockgate.flink.propagation.network`).
"""

from lockgate.errors import InvalidValue
from lockgate.flink.clocks import RelativeClock, TimerService
from lockgate.flink.elements import DataOutput, Record, WatermarkStatus
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.source_output import RisingWatermarks
from lockgate.flink.sql.minibatch_assigner import RowtimeMiniBatchAssigner
from lockgate.flink.sql.strategies import PreserveWatermarks
from lockgate.flink.sql.watermark_assigner import RowWatermark, WatermarkAssigner
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX


class _NoListener:
    """Only the stream receives the watermarks of an assigner."""

    def update_current_effective_watermark(self, watermark: int) -> None: ...

    def update_idle(self, idle: bool) -> None: ...

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None: ...

    def update_current_split_idle(self, split_id: str, idle: bool) -> None: ...

    def split_finished(self, split_id: str) -> None: ...


class TimestampsAndWatermarksOperator(Operator):
    """Assigns event time by a strategy. Raises `InvalidValue` for a negative interval."""

    def __init__(
        self, strategy: WatermarkStrategy, *, clock: RelativeClock, timers: TimerService, interval_ms: int = 200
    ) -> None:
        super().__init__()
        if interval_ms < 0:
            raise InvalidValue("interval_ms", f"must be 0 (off) or more, not {interval_ms}")
        self._assign_timestamp = strategy.assign_timestamp
        self._generator = strategy.create_generator(clock)
        self._processing_time = timers
        self._interval_ms = interval_ms

    def setup(self, output: DataOutput) -> None:
        """Add the filter that lets only rising watermarks through."""
        super().setup(output)
        self._rising = RisingWatermarks(output, _NoListener())

    def open(self) -> None:
        """Emit at each interval from now on."""
        if self._interval_ms:
            self._processing_time.repeat(self._interval_ms, lambda due: self._generator.on_periodic_emit(self._rising))

    def process(self, index: int, record: Record) -> None:
        """Pass the record on with its new event time. Then the generator gets it."""
        timestamp = self._assign_timestamp(record.value, record.timestamp)
        self.output.emit_record(Record(record.value, timestamp))
        self._generator.on_event(record.value, timestamp, self._rising)

    def process_watermark(self, index: int, timestamp: int) -> None:
        """Drop the watermark, unless it is MAX."""
        if timestamp == MAX:
            self._rising.emit_watermark(MAX)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Drop the status. The stream is idle when its own generator says so."""


class PreserveWatermarksOperator(Operator):
    """Assigns nothing, and passes everything on."""

    def __init__(self, strategy: PreserveWatermarks | None = None) -> None:
        super().__init__()


class SqlWatermarkAssignerOperator(Operator):
    """SQL's watermark assigner (`lockgate.flink.sql.watermark_assigner`) as an operator."""

    def __init__(
        self,
        watermark_of: RowWatermark,
        *,
        clock: RelativeClock,
        timers: TimerService,
        interval_ms: int = 200,
        idle_timeout_ms: int = 0,
    ) -> None:
        super().__init__()
        self._watermark_of = watermark_of
        self._clock = clock
        self._processing_time = timers
        self._interval_ms = interval_ms
        self._idle_timeout_ms = idle_timeout_ms

    def setup(self, output: DataOutput) -> None:
        """Make the assigner."""
        super().setup(output)
        self._assigner = WatermarkAssigner(
            self._watermark_of,
            output,
            interval_ms=self._interval_ms,
            idle_timeout_ms=self._idle_timeout_ms,
            clock=self._clock,
            timers=self._processing_time,
        )

    def open(self) -> None:
        """Start the assigner's timer."""
        self._assigner.open()

    def process(self, index: int, record: Record) -> None:
        """Give the record to the assigner."""
        self._assigner.process_element(record)

    def process_watermark(self, index: int, timestamp: int) -> None:
        """Give the watermark to the assigner."""
        self._assigner.process_watermark(timestamp)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Give the status to the assigner."""
        self._assigner.process_status(status)


class MiniBatchAssignerOperator(Operator):
    """SQL's mini-batch assigner (`lockgate.flink.sql.minibatch_assigner`) as an operator."""

    def __init__(self, interval_ms: int) -> None:
        super().__init__()
        self._interval_ms = interval_ms

    def setup(self, output: DataOutput) -> None:
        """Make the assigner."""
        super().setup(output)
        self._assigner = RowtimeMiniBatchAssigner(self._interval_ms, output)

    def process_watermark(self, index: int, timestamp: int) -> None:
        """Give the watermark to the assigner."""
        self._assigner.process_watermark(timestamp)
