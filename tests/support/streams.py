"""Receivers of streams that write down what they get."""

from lockgate.flink.elements import StreamElement, Watermark


class Written:
    """Takes a data stream or watermarks: watermarks as numbers, everything else as it is, in
    order.
    """

    def __init__(self) -> None:
        self.all: list[object] = []

    @property
    def watermarks(self) -> list[int]:
        return [what for what in self.all if isinstance(what, int)]

    def emit(self, element: StreamElement) -> None:
        self.all.append(element.timestamp if isinstance(element, Watermark) else element)

    def emit_watermark(self, timestamp: int) -> None:
        self.all.append(timestamp)

    def mark_idle(self) -> None:
        self.all.append("idle")

    def mark_active(self) -> None:
        self.all.append("active")


class Heard:
    """Listens to an event-time logic, and writes into a list."""

    def __init__(self, into: list[object]) -> None:
        self._into = into

    def update_current_effective_watermark(self, watermark: int) -> None:
        self._into.append(("effective", watermark))

    def update_idle(self, idle: bool) -> None:
        self._into.append(("idle", idle))

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        self._into.append(("split watermark", split_id, watermark))

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self._into.append(("split idle", split_id, idle))

    def split_finished(self, split_id: str) -> None:
        self._into.append(("split finished", split_id))
