"""The parts of a source's event-time logic: an output with its generator, and the final filter that
all outputs of the source share. `lockgate.flink.outputs` puts these parts together.
"""

from typing import Protocol

from lockgate.flink.elements import NO_TIMESTAMP, DataOutput, Record, Watermark, WatermarkOutput, WatermarkStatus
from lockgate.flink.generators import WatermarkGenerator
from lockgate.flink.strategy import TimestampAssigner
from lockgate.watermark import MIN


class WatermarkUpdateListener(Protocol):
    """A listener for the watermarks and the idleness of a source and of its splits."""

    def update_current_effective_watermark(self, watermark: int) -> None:
        """Handle a rise in the source's watermark (ms), before the stream receives it."""

    def update_idle(self, idle: bool) -> None:
        """Handle a source that became idle or active, after the stream has received the status."""

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        """Handle a rise in the split's own watermark (ms)."""

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        """Handle a split that was marked idle or active, whether or not this is a change."""

    def split_finished(self, split_id: str) -> None:
        """Handle a finished split, just before its output is released."""


class SourceOutput(WatermarkOutput, Protocol):
    """The receiver of a reader's records and own watermarks (Flink's `SourceOutput`)."""

    def collect(self, value: object, timestamp: int = NO_TIMESTAMP) -> None:
        """Take a record and the timestamp (ms) that it came with, such as Kafka's."""


class ReaderOutput(SourceOutput, Protocol):
    """The main output, which also creates an output for each split (Flink's `ReaderOutput`)."""

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        """Return the split's output. Further calls return the same one."""

    def release_output_for_split(self, split_id: str) -> None:
        """Release the output of a finished split."""


class RisingWatermarks:
    """The final filter, which passes only rising watermarks and changed statuses on to the stream
    and to `listener` (Flink's `WatermarkToDataOutput`).
    """

    def __init__(self, output: DataOutput, listener: WatermarkUpdateListener | None = None) -> None:
        self._output = output
        self._listener = listener
        self._highest = MIN
        self._idle = False

    def emit_watermark(self, timestamp: int) -> None:
        """Pass a rising watermark (ms) on, first to the listener, then to the stream. An idle
        stream becomes active in between. A watermark that does not rise is dropped.
        """
        if timestamp <= self._highest:
            return
        self._highest = timestamp
        if self._listener is not None:
            self._listener.update_current_effective_watermark(timestamp)
        self.mark_active()
        self._output.emit(Watermark(timestamp))

    def mark_idle(self) -> None:
        if not self._idle:
            self._become(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        if self._idle:
            self._become(WatermarkStatus.ACTIVE)

    def _become(self, status: WatermarkStatus) -> None:
        self._output.emit(status)
        self._idle = status is WatermarkStatus.IDLE
        if self._listener is not None:
            self._listener.update_idle(self._idle)


class IdleWhenBothAre:
    """One half of a source's stream: the main output, or all splits together. The stream is idle
    while both halves are idle (Flink's `IdlenessManager`).
    """

    def __init__(self, underlying: WatermarkOutput) -> None:
        self._underlying = underlying
        self._idle = True
        self.other: IdleWhenBothAre = self

    @classmethod
    def pair(cls, underlying: WatermarkOutput) -> "tuple[IdleWhenBothAre, IdleWhenBothAre]":
        """Return the two halves of a stream that writes to `underlying`. Both start idle."""
        one, two = cls(underlying), cls(underlying)
        one.other, two.other = two, one
        return one, two

    def emit_watermark(self, timestamp: int) -> None:
        """Pass a watermark on, and end this half's idleness even if the watermark does not rise."""
        self._underlying.emit_watermark(timestamp)
        self._idle = False

    def mark_idle(self) -> None:
        """Make this half idle, and the stream if the other half is idle too."""
        self._idle = True
        if self.other._idle:
            self._underlying.mark_idle()

    def mark_active(self) -> None:
        self._idle = False
        self._underlying.mark_active()


class GeneratingOutput:
    """An output that passes records on to `records`, and generates watermarks from them (Flink's
    `SourceOutputWithWatermarks`). Per-event watermarks go to `on_event`, periodic ones to
    `periodic`.
    """

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
        """Pass the record on with its event time, and then give it to the generator."""
        event_time = self._assign_timestamp(value, timestamp)
        self.records.emit(Record(value, event_time))
        self._generator.on_event(value, event_time, self._on_event)

    def emit_watermark(self, timestamp: int) -> None:
        self._on_event.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._on_event.mark_idle()

    def mark_active(self) -> None:
        self._on_event.mark_active()

    def emit_periodic(self) -> None:
        self._generator.on_periodic_emit(self._periodic)
