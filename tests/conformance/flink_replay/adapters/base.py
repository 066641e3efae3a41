"""What all adapters share: events in the order in which they happen, and receivers that write them
down.
"""

from typing import Any

from lockgate.flink.elements import Record, RecordAttributes, StreamElement, Watermark, WatermarkStatus

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

    def emit(self, element: StreamElement) -> None:
        self._events.append(self._written(element))

    def _written(self, element: StreamElement) -> Event:
        if isinstance(element, Record):
            value = {"record": element.value, "ts": element.timestamp}
            return value if self._with_values else {"record": element.timestamp}
        if isinstance(element, Watermark):
            return {"watermark": element.timestamp}
        if isinstance(element, WatermarkStatus):
            return {"status": element.value}
        return {"backlog": element.backlog} if isinstance(element, RecordAttributes) else {"marker": element}


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
