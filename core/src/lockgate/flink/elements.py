"""The elements of a stream: records, and between them watermarks, statuses, latency markers and
record attributes (Flink's `StreamElement`). A channel keeps their order.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from lockgate.watermark import MIN

NO_TIMESTAMP = MIN
"""The event time of a record that has none (Flink's `TimestampAssigner.NO_TIMESTAMP`)."""


@dataclass(frozen=True, slots=True)
class Record:
    """A value and its event time in milliseconds, `NO_TIMESTAMP` if it has none."""

    value: object
    timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True)
class Watermark:
    """The statement that no record with an event time at or below `timestamp` is still to come."""

    timestamp: int


class WatermarkStatus(Enum):
    """The status of a stream. Receivers wait for it while it is ACTIVE, not while it is IDLE."""

    ACTIVE = "ACTIVE"
    IDLE = "IDLE"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A marker for measuring latency, which a source sends at `marked_at_ms` of its own clock.
    Operators pass it on in order with the records around it.
    """

    marked_at_ms: int
    operator: str
    subtask: int


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """Attributes of the next records. In a `backlog`, throughput matters more than latency."""

    backlog: bool


StreamElement: TypeAlias = Record | Watermark | WatermarkStatus | LatencyMarker | RecordAttributes


class WatermarkOutput(Protocol):
    """The receiver of a generator's watermarks and idleness (Flink's `WatermarkOutput`)."""

    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark (ms). The receiver drops it if it is not above the last one."""

    def mark_idle(self) -> None:
        """Mark the output idle, so that receivers do not wait for it until it is active again."""

    def mark_active(self) -> None:
        """Mark the output active, so that receivers wait for it again."""


class DataOutput(Protocol):
    """The receiver of the stream of an operator, a valve or a source (Flink's `DataOutput`)."""

    def emit(self, element: StreamElement) -> None:
        """Take one element. Flink has a method for each kind."""
