"""The source operator's output. Records have gone out before; of the rest the watermark is kept."""

from lockgate.flink.elements import LatencyMarker, Record, RecordAttributes, WatermarkStatus
from lockgate.watermark import MIN


class StreamOutput:
    """A `DataOutput`. `watermark`: of what has gone out, ms."""

    def __init__(self) -> None:
        self.watermark = MIN

    def emit_record(self, record: Record) -> None:
        """Do nothing; the record has gone out already."""

    def emit_watermark(self, timestamp: int) -> None:
        """Keep the source's risen watermark."""
        self.watermark = max(self.watermark, timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        """Do nothing; the operator keeps whether it is idle."""

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """None are asked for."""

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """Return whether there is a backlog is in the orders."""
