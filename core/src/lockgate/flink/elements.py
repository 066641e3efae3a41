"""The elements of a stream: records, and between them watermarks, statuses, latency markers and
record attributes.

A channel carries these five kinds of elements in one order (Flink's `StreamElement`). There are two
kinds of receivers. A generator writes to a `WatermarkOutput`. A `DataOutput` takes whole streams.
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
    """The status of a stream. Receivers wait for it while it is ACTIVE, not while it is IDLE."""

    ACTIVE = "ACTIVE"
    IDLE = "IDLE"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """Measures the latency of a stream. A source sends it at `marked_at_ms` of its own clock, and
    operators pass it on in order with the records around it.
    """

    marked_at_ms: int
    operator: str
    subtask: int


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """With `backlog` the next records are old: their throughput counts, not their latency."""

    backlog: bool


StreamElement: TypeAlias = Record | Watermark | WatermarkStatus | LatencyMarker | RecordAttributes


class WatermarkOutput(Protocol):
    """The receiver of a generator's watermarks and idleness (Flink's `WatermarkOutput`)."""

    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark. The receiver drops one that does not rise."""

    def mark_idle(self) -> None:
        """Mark the output idle: it is not waited for until its next watermark or `mark_active`."""

    def mark_active(self) -> None:
        """Mark the output active: it is waited for again."""


class DataOutput(Protocol):
    """The receiver of the stream of an operator, a valve or a source (Flink's `DataOutput`)."""

    def emit(self, element: StreamElement) -> None:
        """Take one element. Flink has a method for each kind."""
