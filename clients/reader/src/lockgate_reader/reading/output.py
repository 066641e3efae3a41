"""The source operator's output. Records have gone out before; of the rest the watermark is kept."""

from lockgate.flink.elements import StreamElement, Watermark
from lockgate.watermark import MIN


class StreamOutput:
    """A `DataOutput`. `watermark`: of what has gone out, ms."""

    def __init__(self) -> None:
        self.watermark = MIN

    def emit(self, element: StreamElement) -> None:
        """Keep the source's risen watermark."""
        if isinstance(element, Watermark):
            self.watermark = max(self.watermark, element.timestamp)
