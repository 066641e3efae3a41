"""What all adapters share: events in the order in which they happen, and receivers that write them
down.
"""

from typing import Any

from lockgate.flink.elements import LatencyMarker, Record, RecordAttributes, WatermarkStatus

Event = dict[str, Any]
Op = dict[str, Any]


class Adapter:
    """Calls lockgate as the recorder called Flink. `events` is what the present operation has
    produced so far.
    """

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.events: list[Event] = []

    def apply(self, op: Op) -> None:
        """Do one operation: the method of its name, with its arguments."""
        arguments = {name: value for name, value in op.items() if name != "op"}
        getattr(self, f"do_{op['op']}")(**arguments)

    def state(self) -> Any:
        """Return what the recorder read by reflection, or None if it read nothing."""
        return None


class RecordingDataOutput:
    """A stream's receiver."""

    def __init__(self, events: list[Event], *, with_values: bool = True) -> None:
        self._events = events
        self._with_values = with_values

    def emit_record(self, record: Record) -> None:
        if self._with_values:
            self._events.append({"record": record.value, "ts": record.timestamp})
        else:
            self._events.append({"record": record.timestamp})

    def emit_watermark(self, timestamp: int) -> None:
        self._events.append({"watermark": timestamp})

    def emit_status(self, status: WatermarkStatus) -> None:
        self._events.append({"status": status.value})

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self._events.append({"latency_marker": marker.marked_at_ms})

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        self._events.append({"backlog": attributes.backlog})


class RecordingWatermarkOutput:
    """A generator's or multiplexer's receiver."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def emit_watermark(self, timestamp: int) -> None:
        self._events.append({"watermark": timestamp})

    def mark_idle(self) -> None:
        self._events.append({"idle": True})

    def mark_active(self) -> None:
        self._events.append({"active": True})
