"""What flows in a stream: records, and between them watermarks, statuses, latency markers and
record attributes.

A channel carries five kinds of elements in one order (Flink's `StreamElement`, seed 000): a record
with its event time; a watermark ("no record at or below this is still to come"); a status (IDLE: do
not wait for me; ACTIVE: wait again); a latency marker, that measures how long the way takes; and
record attributes, that say whether a source still works off a backlog.

Two receivers stand for the two halves of the way. A `WatermarkOutput` is what a generator talks to;
a `DataOutput` is what takes whole streams. Used by every component that emits: generators,
multiplexer, valve, source operator, network.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from lockgate.watermark import MIN

NO_TIMESTAMP = MIN
"""The event time of a record that has none (Flink's `TimestampAssigner.NO_TIMESTAMP`)."""


@dataclass(frozen=True, slots=True)
class Record:
    """A value and its event time in milliseconds (`NO_TIMESTAMP`: none)."""

    value: object
    timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True)
class Watermark:
    """No record with an event time at or below `timestamp` is still to come."""

    timestamp: int


class WatermarkStatus(Enum):
    """Whether a stream is waited for."""

    ACTIVE = "ACTIVE"
    IDLE = "IDLE"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """Sent by a source at `marked_at_ms` of its own clock; operators pass it on in order with the
    records around it.
    """

    marked_at_ms: int
    operator: str
    subtask: int


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """`backlog`: what follows is old data that is being worked off; throughput counts there, not
    latency.
    """

    backlog: bool


StreamElement: TypeAlias = Record | Watermark | WatermarkStatus | LatencyMarker | RecordAttributes


class WatermarkOutput(Protocol):
    """Where a watermark generator puts what it has to say (Flink's `WatermarkOutput`)."""

    def emit_watermark(self, timestamp: int) -> None:
        """A watermark. Whether it rises is the receiver's business."""

    def mark_idle(self) -> None:
        """Do not wait for this output until it speaks again."""

    def mark_active(self) -> None:
        """Wait for this output again."""


class DataOutput(Protocol):
    """Where an operator, a valve or a source puts its stream, in order (Flink's `DataOutput`)."""

    def emit_record(self, record: Record) -> None:
        """One record."""

    def emit_watermark(self, timestamp: int) -> None:
        """One watermark."""

    def emit_status(self, status: WatermarkStatus) -> None:
        """The stream becomes idle or active."""

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """One latency marker."""

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """What the records that follow are."""
