"""Channels between operators, and an operator's output over them (Flink's `RecordWriterOutput`;
seed 003, 1.5).

A channel keeps what was put into it in order. A record goes to the channels that its partitioner
names, one of them as a rule, all for a broadcast; a watermark and a status go to *every* channel,
for each receiver has to know; a latency marker goes to one, in turn. A status that has been
announced is not announced again, and an output that is idle announces no watermark.

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
"""`(record, number of channels) -> the channels it goes to`."""


def forward(record: Record, channels: int) -> Iterable[int]:
    """To the first channel: for a connection one to one."""
    return (0,)


def to_all(record: Record, channels: int) -> Iterable[int]:
    """To every channel: a broadcast."""
    return range(channels)


def by(key: Callable[[object], int]) -> Partitioner:
    """To the channel of its key: `key(value)` modulo the number of channels."""
    return lambda record, channels: (key(record.value) % channels,)


class ChannelOutput:
    """One connection's side of an operator's output."""

    def __init__(self, channels: Sequence[Channel], partition: Partitioner) -> None:
        self._channels = channels
        self._partition = partition
        self._announced = WatermarkStatus.ACTIVE
        self._next_marker = 0

    def emit_record(self, record: Record) -> None:
        """To the channels that the partitioner names."""
        for channel in self._partition(record, len(self._channels)):
            self._channels[channel].append(record)

    def emit_watermark(self, timestamp: int) -> None:
        """To every channel, unless the output is idle."""
        if self._announced is WatermarkStatus.ACTIVE:
            self._to_all(Watermark(timestamp))

    def emit_status(self, status: WatermarkStatus) -> None:
        """To every channel, if it is news."""
        if status is not self._announced:
            self._announced = status
            self._to_all(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """To one channel, in turn."""
        self._channels[self._next_marker % len(self._channels)].append(marker)
        self._next_marker += 1

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """To every channel."""
        self._to_all(attributes)

    def _to_all(self, element: StreamElement) -> None:
        for channel in self._channels:
            channel.append(element)


class Outputs:
    """All connections of an operator: what it emits goes to each of them."""

    def __init__(self) -> None:
        self.connections: list[DataOutput] = []

    def emit_record(self, record: Record) -> None:
        """To each connection."""
        for output in self.connections:
            output.emit_record(record)

    def emit_watermark(self, timestamp: int) -> None:
        """To each connection."""
        for output in self.connections:
            output.emit_watermark(timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        """To each connection."""
        for output in self.connections:
            output.emit_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """To each connection."""
        for output in self.connections:
            output.emit_latency_marker(marker)

    def emit_record_attributes(self, attributes: RecordAttributes) -> None:
        """To each connection."""
        for output in self.connections:
            output.emit_record_attributes(attributes)
