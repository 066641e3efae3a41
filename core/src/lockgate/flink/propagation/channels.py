"""Channels between operators, and an operator's output over them (Flink's `RecordWriterOutput`).

A channel keeps its elements in order. A record goes to the channels that its partitioner names: to
one as a rule, to all for a broadcast. A watermark and a status go to *every* channel, since each
receiver needs them. A latency marker goes to one channel, the next one each time. A status that was
announced is not announced again. An idle output announces no watermark.

Used by `lockgate.flink.propagation.network`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from lockgate.flink.elements import (
    DataOutput,
    LatencyMarker,
    Record,
    RecordAttributes,
    StreamElement,
    Watermark,
    WatermarkStatus,
)

Channel: TypeAlias = deque[StreamElement]
Partitioner: TypeAlias = Callable[[Record, int], Iterable[int]]
"""`(record, number of channels) -> the channels that it goes to`."""


def forward(record: Record, channels: int) -> Iterable[int]:
    """Names the first channel: for a connection one to one."""
    return (0,)


def to_all(record: Record, channels: int) -> Iterable[int]:
    """Names every channel: a broadcast."""
    return range(channels)


def by(key: Callable[[object], int]) -> Partitioner:
    """Names the channel of the record's key: `key(value)` modulo the number of channels."""
    return lambda record, channels: (key(record.value) % channels,)


class ChannelOutput:
    """One connection's side of an operator's output."""

    def __init__(self, channels: Sequence[Channel], partition: Partitioner) -> None:
        self._channels = channels
        self._partition = partition
        self._announced = WatermarkStatus.ACTIVE
        self._next_marker = 0

    def emit_record(self, record: Record) -> None:
        """Send a record to the channels that the partitioner names."""
        for channel in self._partition(record, len(self._channels)):
            self._channels[channel].append(record)

    def emit_watermark(self, timestamp: int) -> None:
        """Send a watermark to every channel, unless the output is idle."""
        if self._announced is WatermarkStatus.ACTIVE:
            self._to_all(Watermark(timestamp))

    def emit_status(self, status: WatermarkStatus) -> None:
        """Send a status to every channel, if it has changed."""
        if status is not self._announced:
            self._announced = status
            self._to_all(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """Send a marker to one channel, the next one each time."""
        self._channels[self._next_marker % len(self._channels)].append(marker)
        self._next_marker += 1

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """Send attributes to every channel."""
        self._to_all(attributes)

    def _to_all(self, element: StreamElement) -> None:
        for channel in self._channels:
            channel.append(element)


class Outputs:
    """All connections of an operator. Each of them gets all that the operator emits."""

    def __init__(self) -> None:
        self.connections: list[DataOutput] = []

    def emit_record(self, record: Record) -> None:
        """Send a record to each connection."""
        for output in self.connections:
            output.emit_record(record)

    def emit_watermark(self, timestamp: int) -> None:
        """Send a watermark to each connection."""
        for output in self.connections:
            output.emit_watermark(timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        """Send a status to each connection."""
        for output in self.connections:
            output.emit_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """Send a marker to each connection."""
        for output in self.connections:
            output.emit_latency_marker(marker)

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """Send attributes to each connection."""
        for output in self.connections:
            output.emit_record_attributes(attributes)
