"""The operator that assigns event time in the middle of a stream (Flink's
`TimestampsAndWatermarksOperator`).

Each record gets a new timestamp. Watermarks from upstream are dropped, except MAX, which is the end
of the input. Statuses from upstream are dropped. Outgoing watermarks only rise.
"""

from lockgate.errors import InvalidValue
from lockgate.flink.clocks import ProcessingTime
from lockgate.flink.elements import DataOutput, Record, WatermarkStatus
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.source_output import RisingWatermarks
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX


class TimestampsAndWatermarksOperator(Operator):
    """An operator that assigns event times and watermarks by a `strategy`.

    Watermarks are emitted periodically, every `interval_ms`, unless the interval is 0. Generators
    may also emit for each event. Raises `InvalidValue` if the interval is negative.
    """

    def __init__(self, strategy: WatermarkStrategy, time: ProcessingTime, interval_ms: int = 200) -> None:
        super().__init__()
        if interval_ms < 0:
            raise InvalidValue("interval_ms", f"must be 0 (off) or more, not {interval_ms}")
        self._assign_timestamp = strategy.assign_timestamp
        self._generator = strategy.create_generator(time)
        self._time = time
        self._interval_ms = interval_ms

    def setup(self, output: DataOutput) -> None:
        super().setup(output)
        self._rising = RisingWatermarks(output)

    def open(self) -> None:
        if self._interval_ms:
            self._time.repeat(self._interval_ms, lambda due: self._generator.on_periodic_emit(self._rising))

    def process(self, index: int, record: Record) -> None:
        timestamp = self._assign_timestamp(record.value, record.timestamp)
        self.output.emit(Record(record.value, timestamp))
        self._generator.on_event(record.value, timestamp, self._rising)

    def process_watermark(self, index: int, timestamp: int) -> None:
        if timestamp == MAX:
            self._rising.emit_watermark(MAX)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Drop the status. Only the operator's own generator marks the stream idle."""
