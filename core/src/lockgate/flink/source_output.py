"""One output of a source: a generator behind it, and the filter where all outputs of the source
meet.

The parts that `lockgate.flink.outputs` puts together: what a reader sees (`SourceOutput`,
`ReaderOutput`), an output with its generator, the pair of halves ("main" and "splits") that are
idle only together, and the last filter, behind which watermarks only rise.

Used by `lockgate.flink.outputs` and `lockgate.flink.batch_outputs`; readers use the two protocols.
"""

from typing import Protocol

from lockgate.flink.elements import NO_TIMESTAMP, DataOutput, Record, WatermarkOutput, WatermarkStatus
from lockgate.flink.generators import WatermarkGenerator
from lockgate.flink.strategy import TimestampAssigner
from lockgate.watermark import MIN


class WatermarkUpdateListener(Protocol):
    """Hears what the event-time logic decides, before the stream does."""

    def update_current_effective_watermark(self, watermark: int) -> None:
        """The source's watermark rose."""

    def update_idle(self, idle: bool) -> None:
        """The whole source became idle or active (told after the stream was)."""

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        """A split's own watermark rose."""

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        """A split said that it is idle, or active: each time."""

    def split_finished(self, split_id: str) -> None:
        """A split's output was released."""


class SourceOutput(Protocol):
    """Where a reader puts its records (Flink's `SourceOutput`)."""

    def collect(self, value: object, timestamp: int = NO_TIMESTAMP) -> None:
        """A record, with the timestamp it came with."""

    def emit_watermark(self, timestamp: int) -> None:
        """A watermark of the reader's own."""

    def mark_idle(self) -> None:
        """Nothing to be expected here for now."""

    def mark_active(self) -> None:
        """Wait for this output again."""


class ReaderOutput(SourceOutput, Protocol):
    """The main output, that also makes the outputs per split (Flink's `ReaderOutput`)."""

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        """The split's output; the same one when asked twice."""

    def release_output_for_split(self, split_id: str) -> None:
        """The split is finished."""


class RisingWatermarks:
    """The last filter: only rising watermarks, statuses only when they change (Flink's
    `WatermarkToDataOutput`).
    """

    def __init__(self, output: DataOutput, listener: WatermarkUpdateListener) -> None:
        self._output = output
        self._listener = listener
        self._highest = MIN
        self._idle = False

    def emit_watermark(self, timestamp: int) -> None:
        """Tell the listener, become active, pass it on: if it rises."""
        if timestamp <= self._highest:
            return
        self._highest = timestamp
        self._listener.update_current_effective_watermark(timestamp)
        self.mark_active()
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        """IDLE, once."""
        if not self._idle:
            self._turn(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        """ACTIVE, if it was idle."""
        if self._idle:
            self._turn(WatermarkStatus.ACTIVE)

    def _turn(self, status: WatermarkStatus) -> None:
        self._output.emit_status(status)
        self._idle = status is WatermarkStatus.IDLE
        self._listener.update_idle(self._idle)


class IdleWhenBothAre:
    """Main, or all splits together: the stream is idle only when the `other` half is too (Flink's
    `IdlenessManager`).
    """

    def __init__(self, underlying: WatermarkOutput) -> None:
        self._underlying = underlying
        self._idle = True
        self.other: IdleWhenBothAre = self

    @classmethod
    def pair(cls, underlying: WatermarkOutput) -> "tuple[IdleWhenBothAre, IdleWhenBothAre]":
        """Two halves of one stream; both start idle."""
        one, two = cls(underlying), cls(underlying)
        one.other, two.other = two, one
        return one, two

    def emit_watermark(self, timestamp: int) -> None:
        """Goes on; this half is not idle, whether it rises or not."""
        self._underlying.emit_watermark(timestamp)
        self._idle = False

    def mark_idle(self) -> None:
        """Half the way to an idle stream; with the other half all of it."""
        self._idle = True
        if self.other._idle:
            self._underlying.mark_idle()

    def mark_active(self) -> None:
        """Neither this half nor the stream is idle."""
        self._idle = False
        self._underlying.mark_active()


class GeneratingOutput:
    """An output with a generator behind it (Flink's `SourceOutputWithWatermarks`)."""

    def __init__(
        self,
        records: DataOutput,
        on_event: WatermarkOutput,
        periodic: WatermarkOutput,
        assign_timestamp: TimestampAssigner,
        generator: WatermarkGenerator,
    ) -> None:
        self.records = records
        self._on_event = on_event
        self._periodic = periodic
        self._assign_timestamp = assign_timestamp
        self._generator = generator

    def collect(self, value: object, timestamp: int = NO_TIMESTAMP) -> None:
        """The record goes on, with its event time; then the generator sees it."""
        event_time = self._assign_timestamp(value, timestamp)
        self.records.emit_record(Record(value, event_time))
        self._generator.on_event(value, event_time, self._on_event)

    def emit_watermark(self, timestamp: int) -> None:
        """The reader's own watermark."""
        self._on_event.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        """The reader's own word."""
        self._on_event.mark_idle()

    def mark_active(self) -> None:
        """The reader's own word."""
        self._on_event.mark_active()

    def emit_periodic(self) -> None:
        """The generator's turn."""
        self._generator.on_periodic_emit(self._periodic)
