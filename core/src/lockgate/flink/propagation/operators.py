"""Operators: what they do with records is theirs, what they do with watermarks is one rule (Flink's
`AbstractStreamOperator`).

    a watermark arrives → the inputs' watermarks are combined → if that rose: due timers fire, then
    the watermark goes on

With one input a watermark is taken as it comes. With two, the operator's event time is the minimum
of both (seed 004); with more, it is two-input minima step by step, which comes to the minimum of
all (seed 002, 4.4.3). Idle inputs are left out; the operator becomes idle when all of them are, and
active again with the first. Latency markers and record attributes go on where they stand among the
records.

Used by `lockgate.flink.propagation.network`, which is what `lockgate simulate` and the plain
readers run on. Derive from `Operator`, and say in `process` what a record does and in
`on_event_time` what a timer does; `self.output` and `self.timers` are there from `setup` on.
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
        """Called once, before anything else."""
        self.output = output

    def open(self) -> None:
        """Called once, when the network starts."""

    def process(self, index: int, record: Record) -> None:
        """A record on input `index`."""
        self.output.emit_record(record)

    def on_event_time(self, timer: EventTimer) -> None:
        """A timer fires."""

    def process_watermark(self, index: int, timestamp: int) -> None:
        """A watermark on input `index`."""
        if self.inputs == 1:
            self.advance(timestamp)
        elif self._combined.update_watermark(index, timestamp):
            self.advance(self._combined.watermark)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        """Input `index` becomes idle or active."""
        was_idle = self._combined.idle
        if self._combined.update_status(index, status is WatermarkStatus.IDLE) and self.inputs > 1:
            self.advance(self._combined.watermark)
        if was_idle != self._combined.idle:
            self.output.emit_status(status)

    def process_latency_marker(self, index: int, marker: LatencyMarker) -> None:
        """A latency marker on input `index`."""
        self.output.emit_latency_marker(marker)

    def process_record_attributes(self, index: int, attributes: RecordAttributes) -> None:
        """Record attributes on input `index`."""
        self.output.emit_record_attributes(attributes)

    def advance(self, watermark: int) -> None:
        """The operator's event time is `watermark` now: due timers fire, then it goes on."""
        self.timers.advance(watermark)
        self.output.emit_watermark(watermark)


class TwoInputs(Operator):
    """Two inputs with a method each (Flink's `TwoInputStreamOperator`): say in them what their
    records do.
    """

    def __init__(self) -> None:
        super().__init__(inputs=2)

    def process(self, index: int, record: Record) -> None:
        """To `process_first` or `process_second`."""
        if index == 0:
            self.process_first(record)
        else:
            self.process_second(record)

    def process_first(self, record: Record) -> None:
        """A record on the first input."""
        self.output.emit_record(record)

    def process_second(self, record: Record) -> None:
        """A record on the second input, in a broadcast join the side that is the same
        everywhere.
        """
        self.output.emit_record(record)
