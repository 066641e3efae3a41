"""The elements of a stream (Flink's `StreamElement`): records, watermarks, statuses, latency
markers and record attributes. A channel keeps their order.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from lockgate.watermark import MIN

NO_TIMESTAMP = MIN
"""The event time of a record that has none (Flink's `TimestampAssigner.NO_TIMESTAMP`)."""


@dataclass(frozen=True, slots=True)
class Record:
    """A value and its event time in milliseconds, or `NO_TIMESTAMP` if it has none."""

    value: object
    timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True)
class Watermark:
    """The statement that no record with an event time at or below `timestamp` is still to come."""

    timestamp: int


class WatermarkStatus(Enum):
    """The status of a stream. Receivers wait for an ACTIVE stream, but not for an IDLE one."""

    ACTIVE = "ACTIVE"
    IDLE = "IDLE"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A marker that a source sends to measure latency. Operators keep its place among the records.

    `subtask` of the source `operator` sent the marker at `marked_at_ms` by its own clock.
    """

    marked_at_ms: int
    operator: str
    subtask: int


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """Attributes of the records that follow. In a `backlog`, throughput goes before latency."""

    backlog: bool


StreamElement: TypeAlias = Record | Watermark | WatermarkStatus | LatencyMarker | RecordAttributes


class WatermarkOutput(Protocol):
    """The receiver of a generator's watermarks and idleness (Flink's `WatermarkOutput`)."""

    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark (ms), but drop it if it is not above the last one."""

    def mark_idle(self) -> None:
        """Mark this output idle, so that operators downstream do not wait for it."""

    def mark_active(self) -> None:
        """Mark this output active, so that operators downstream wait for it again."""


class DataOutput(Protocol):
    """The receiver of emitted stream elements (Flink's `DataOutput`)."""

    def emit(self, element: StreamElement) -> None:
        """Take one element of any kind. (In Flink, each kind of element has its own method.)"""
