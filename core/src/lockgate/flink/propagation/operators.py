"""The base of operators, which process records in different ways but watermarks by one rule
(Flink's `AbstractStreamOperator`).

    a watermark arrives → the inputs' watermarks are combined → if that rose: due timers fire, then
    the watermark goes on

If an operator has one input, each watermark of that input counts as it comes. If it has several
inputs, the operator's event time is the minimum over the inputs that are not idle. The operator
becomes idle when all inputs are idle, and active again as soon as one input is active.

To write an operator, derive from `Operator`: `process` handles a record, and `on_event_time` a
timer. `setup` sets `self.output`.
"""

from lockgate.errors import InvalidValue
from lockgate.flink.combined import IndexedCombinedWatermarkStatus
from lockgate.flink.elements import DataOutput, Record, StreamElement, Watermark, WatermarkStatus
from lockgate.flink.propagation.timers import EventTimer, EventTimers


class Operator:
    """The base class of operators. It passes records on. Raises `InvalidValue` for `inputs` below
    1.
    """

    output: DataOutput

    def __init__(self, inputs: int = 1) -> None:
        if inputs < 1:
            raise InvalidValue("inputs", f"must be 1 or more, not {inputs}")
        self.inputs = inputs
        self.timers = EventTimers(self.on_event_time)
        self._combined = IndexedCombinedWatermarkStatus(inputs)

    def setup(self, output: DataOutput) -> None:
        """Set the output. This method is called once, before all others."""
        self.output = output

    def open(self) -> None:
        """Start the operator. This method is called once, when its `Network` starts."""

    def take(self, index: int, element: StreamElement) -> None:
        """Handle an element on input `index`. Pass on latency markers and record attributes."""
        if isinstance(element, Record):
            self.process(index, element)
        elif isinstance(element, Watermark):
            self.process_watermark(index, element.timestamp)
        elif isinstance(element, WatermarkStatus):
            self.process_status(index, element)
        else:
            self.output.emit(element)

    def process(self, index: int, record: Record) -> None:
        """Process a record on input `index`. By default, pass the record on."""
        self.output.emit(record)

    def on_event_time(self, timer: EventTimer) -> None:
        """Handle a timer that fires. By default, do nothing."""

    def process_watermark(self, index: int, timestamp: int) -> None:
        if self.inputs == 1:
            self.advance(timestamp)
        elif self._combined.update_watermark(index, timestamp):
            self.advance(self._combined.watermark)

    def process_status(self, index: int, status: WatermarkStatus) -> None:
        was_idle = self._combined.idle
        if self._combined.update_status(index, status is WatermarkStatus.IDLE) and self.inputs > 1:
            self.advance(self._combined.watermark)
        if was_idle != self._combined.idle:
            self.output.emit(status)

    def advance(self, watermark: int) -> None:
        """Move event time to `watermark` (ms): fire the due timers, then pass the watermark on."""
        self.timers.advance(watermark)
        self.output.emit(Watermark(watermark))
