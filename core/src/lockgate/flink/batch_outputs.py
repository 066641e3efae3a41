"""Event time of bounded execution: timestamps, and nothing else (Flink's
`NoOpTimestampsAndWatermarks`).

A batch has all its records before the first result, so watermarks on the way would only cost.
Records get their event time. Every watermark and idleness is dropped, the reader's own and the
generator's. MAX alone, after the last record, says that the end is reached (see
`lockgate.flink.propagation.source_task`).

Used by the source operator when `progressive_watermarks` is off.
"""

from collections.abc import Iterable

from lockgate.flink.elements import NO_TIMESTAMP, DataOutput, Record
from lockgate.flink.source_output import ReaderOutput, SourceOutput, WatermarkUpdateListener
from lockgate.flink.strategy import TimestampAssigner, WatermarkStrategy


class _TimestampsOnly:
    def __init__(self, records: DataOutput, assign_timestamp: TimestampAssigner) -> None:
        self._records = records
        self._assign_timestamp = assign_timestamp

    def collect(self, value: object, timestamp: int = NO_TIMESTAMP) -> None:
        self._records.emit_record(Record(value, self._assign_timestamp(value, timestamp)))

    def emit_watermark(self, timestamp: int) -> None:
        """Drop it."""

    def mark_idle(self) -> None:
        """Drop it."""

    def mark_active(self) -> None:
        """Drop it."""

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        return self

    def release_output_for_split(self, split_id: str) -> None:
        """There is nothing to release."""


class BatchEventTime:
    """Timestamps only."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy

    def create_main_output(self, output: DataOutput, listener: WatermarkUpdateListener) -> ReaderOutput:
        """Return the reader's output. The listener is never called."""
        return _TimestampsOnly(output, self._strategy.assign_timestamp)

    def start_periodic_emission(self) -> None:
        """Nothing to emit."""

    def stop_periodic_emission(self) -> None:
        """Nothing to stop."""

    def emit_immediately(self) -> None:
        """Nothing to emit."""

    def pause_or_resume_splits(self, pause: Iterable[str], resume: Iterable[str]) -> None:
        """There are no clocks."""
