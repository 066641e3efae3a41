"""Flink's operator events between a source operator and its coordinator, with Flink's names.

    to the coordinator     ReaderRegistrationEvent, RequestSplitEvent, ReportedWatermarkEvent,
                           SourceEventWrapper
    from the coordinator   AddSplitEvent, NoMoreSplitsEvent, WatermarkAlignmentEvent,
                           IsProcessingBacklogEvent, SourceEventWrapper

These events stay within one process. The events of the same names in `lockgate.wire` are lockgate's
own: readers and the coordinator service send them over HTTP. Splits are sent as bytes, as in Flink.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar


class SourceSplit(Protocol):
    """The smallest part of a source that can be read and paused on its own."""

    @property
    def split_id(self) -> str:
        """The split's name, unique within the source."""


S = TypeVar("S", bound=SourceSplit)


class SplitSerializer(Protocol[S]):
    """A serializer that turns splits into bytes and back (Flink's `SimpleVersionedSerializer`)."""

    @property
    def version(self) -> int:
        """The version that `serialize` writes."""

    def serialize(self, split: S) -> bytes:
        """Return one split's bytes."""

    def deserialize(self, version: int, data: bytes) -> S:
        """Return the split that the bytes encode. Raises `UnreadableBytes` if they encode none."""


@dataclass(frozen=True, slots=True)
class ReaderRegistrationEvent:
    """The registration of the reader of a `subtask`, which runs on `host`."""

    subtask: int
    host: str


@dataclass(frozen=True, slots=True)
class RequestSplitEvent:
    """The request for a split, from a reader on `host` that has nothing to read."""

    host: str


@dataclass(frozen=True, slots=True)
class AddSplitEvent(Generic[S]):
    """Splits for a reader, as bytes written by version `serializer_version` of the serializer."""

    serializer_version: int
    data: tuple[bytes, ...]

    @classmethod
    def of(cls, splits: Iterable[S], serializer: SplitSerializer[S]) -> "AddSplitEvent[S]":
        return cls(serializer.version, tuple(serializer.serialize(split) for split in splits))

    def splits(self, serializer: SplitSerializer[S]) -> list[S]:
        """Return the decoded splits. Raises `UnreadableBytes` if one cannot be decoded."""
        return [serializer.deserialize(self.serializer_version, data) for data in self.data]


@dataclass(frozen=True, slots=True)
class NoMoreSplitsEvent:
    """The notice that the reader gets no more splits."""


@dataclass(frozen=True, slots=True)
class WatermarkAlignmentEvent:
    """The max desired watermark (ms): sources and splits whose watermark is above it must wait."""

    max_watermark: int


@dataclass(frozen=True, slots=True)
class ReportedWatermarkEvent:
    """A report of the subtask's watermark (ms), or MAX if the subtask is idle or finished."""

    watermark: int


@dataclass(frozen=True, slots=True)
class SourceEventWrapper:
    """A source-specific event, for the source's reader or its enumerator."""

    event: object


@dataclass(frozen=True, slots=True)
class IsProcessingBacklogEvent:
    """The notice that processing of a backlog began or, if `backlog` is false, ended."""

    backlog: bool


ToCoordinator: TypeAlias = ReaderRegistrationEvent | RequestSplitEvent | ReportedWatermarkEvent | SourceEventWrapper
