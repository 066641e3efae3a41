"""Channels between operators, and an operator's output over them (Flink's `RecordWriterOutput`).

A channel keeps its elements in order. Which channels an element goes to depends on its kind:

* A record goes to the channels that the output's partitioner returns.
* A watermark, a status or record attributes go to *every* channel.
* Each latency marker goes to one channel, in turn.

A status is sent only when it changes, and an idle output sends no watermark.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from lockgate.flink.elements import DataOutput, LatencyMarker, Record, StreamElement, Watermark, WatermarkStatus

Channel: TypeAlias = deque[StreamElement]
Partitioner: TypeAlias = Callable[[Record, int], Iterable[int]]
"""`(record, number of channels) -> the channels that it goes to`."""


def forward(record: Record, channels: int) -> Iterable[int]:
    """Return the number of the first channel, for a one-to-one connection."""
    return (0,)


def to_all(record: Record, channels: int) -> Iterable[int]:
    """Return the numbers of all channels, for a broadcast."""
    return range(channels)


def by(key: Callable[[object], int]) -> Partitioner:
    """Return a partitioner that sends a record to the channel `key(value)` modulo the number of
    channels.
    """
    return lambda record, channels: (key(record.value) % channels,)


class ChannelOutput:
    """An operator's output to one channel per receiver. `partition` chooses a record's channels."""

    def __init__(self, channels: Sequence[Channel], partition: Partitioner) -> None:
        self._channels = channels
        self._partition = partition
        self._announced = WatermarkStatus.ACTIVE
        self._next_marker = 0

    def emit(self, element: StreamElement) -> None:
        for channel in self._channels_of(element):
            self._channels[channel].append(element)

    def _channels_of(self, element: StreamElement) -> Iterable[int]:
        if isinstance(element, Record):
            return self._partition(element, len(self._channels))
        if isinstance(element, LatencyMarker):
            self._next_marker += 1
            return ((self._next_marker - 1) % len(self._channels),)
        if isinstance(element, Watermark) and self._announced is WatermarkStatus.IDLE:
            return ()
        if isinstance(element, WatermarkStatus):
            if element is self._announced:
                return ()
            self._announced = element
        return range(len(self._channels))


class Outputs:
    def __init__(self) -> None:
        self.connections: list[DataOutput] = []

    def emit(self, element: StreamElement) -> None:
        for output in self.connections:
            output.emit(element)
