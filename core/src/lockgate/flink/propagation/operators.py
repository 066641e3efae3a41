"""Operators: each treats records in its own way, and all treat watermarks by one rule (Flink's
`AbstractStreamOperator`).

    a watermark arrives → the inputs' watermarks are combined → if that rose: due timers fire, then
    the watermark goes on

With one input a watermark is taken as it comes. With two, the operator's event time is the minimum
of both. With more, Flink combines two inputs at a time, and the result is the minimum of
all. Idle inputs are left out. The operator becomes idle when all inputs are, and
active again with the first. Latency markers and record attributes keep their place among the
records.

Used by `lockgate.flink.propagation.network`. Derive from `Operator`: `process` treats a record, and
`on_event_time` a timer. `self.output` is there from `setup` on.
"""

from lockgate.errors import InvalidValue
from lockgate.flink.combined import IndexedCombinedWatermarkStatus
from lockgate.flink.elements import DataOutput, LatencyMarker, Record, RecordAttributes, WatermarkStatus
from lockgate.flink.propagation.timers import EventTimer, EventTimers


class Operator:
    """Passes records on as they are. Raises `InvalidValue` for less than one input."""

    output: DataOutput

    def __init__(self, inputs: int = 1) -> None:
        if inputs < 1:
            raise InvalidValue("inputs", f"must be 1 or more, not {inputs}")
        self.inputs = inputs
        self.timers = EventTimers(self.on_event_time)
        self._combined = IndexedCombinedWatermarkStatus(inputs)

    def setup(self, output: DataOutput) -> None:
        """Take the output. Called once, before anything else."""
        self.output = output

    def open(self) -> None:
        """Begin. Called once, when the network starts."""

    def process(self, index: int, record: Record) -> None:
        """Take a record on input `index`."""
        self.output.emit_record(record)

    def on_event_time(self, timer: EventTimer) -> None:
        """Take a timer that fires."""

    def process_watermark(self, index: int, timestamp: int) -> None:
        """Take a watermark on input `index`."""
        if self.inputs == 1:
            self.advance(timestamp)
        elif self._combined.update_watermark(index, timestamp):
            self.advance(self._combined.watermark)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Make input `index` idle or active."""
        was_idle = self._combined.idle
        if self._combined.update_status(index, status is WatermarkStatus.IDLE) and self.inputs > 1:
            self.advance(self._combined.watermark)
        if was_idle != self._combined.idle:
            self.output.emit_status(status)

    def process_latency_marker(self, index: int, marker: LatencyMarker) -> None:
        """Take a latency marker on input `index`."""
        self.output.emit_latency_marker(marker)

    def process_record_attributes(self, index: int, attributes: RecordAttributes) -> None:
        """Take record attributes on input `index`."""
        self.output.emit_record_attributes(attributes)

    def advance(self, watermark: int) -> None:
        """Move the operator's event time to `watermark`: due timers fire, then it goes on."""
        self.timers.advance(watermark)
        self.output.emit_watermark(watermark)


class TwoInputs(Operator):
    """An operator with two inputs, and a method for the records of each (Flink's
    `TwoInputStreamOperator`).
    """

    def __init__(self) -> None:
        super().__init__(inputs=2)

    def process(self, index: int, record: Record) -> None:
        """Give the record to `process_first` or `process_second`."""
        if index == 0:
            self.process_first(record)
        else:
            self.process_second(record)

    def process_first(self, record: Record) -> None:
        """Take a record on the first input."""
        self.output.emit_record(record)

    def process_second(self, record: Record) -> None:
        """Take a record on the second input. In a broadcast join this is the side that is the same
        everywhere.
        """
        self.output.emit_record(record)
