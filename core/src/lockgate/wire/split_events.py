"""The wire events of splits: the messages between a reader and its split enumerator.

They carry Flink's operator events by name and meaning, but as complete states: one exchange states
all that a reader has, and its answer all that the reader is to have. `docs/internals/protocol.md`,
"Splits", has the rules of both sides, and the event of Flink for each field.

Each class is the definition of its JSON, as in `events`.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lockgate.errors import InvalidValue
from lockgate.wire.events import ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate.wire.fields import Count, Integer, Meta, Name, Positive, Required
from lockgate.wire.split_codec import SERIALIZER, SourceEventBody, Split

SOURCE_EVENTS_KEPT = 16
"""The most SourceEvents in one message, and in each direction the most that are kept."""

ID_LIMIT = 255
"""The most characters of a SourceEvent's id."""

CAPACITY_LIMIT = 1_000_000
"""The greatest capacity of a reader."""

Version = Annotated[int, Meta(ge=0, le=SERIALIZER.version)]
Id = Annotated[str, Meta(max_length=ID_LIMIT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSplit:
    """A split at the position to read from, with the number of its assignment. If a user has
    `restored` the position, it counts even if it is lower than before.
    """

    split: Split
    assignment: Positive
    restored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredSplits:
    """All splits of a source as a reader found them on `request`, the number of the coordinator's
    request. If they are `bounded`, there will never be another one.
    """

    request: Count
    splits: tuple[Split, ...]
    bounded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitList:
    """An operator's static list of a source's splits. `bounded` is as in `DiscoveredSplits`."""

    CLOSED: ClassVar[bool] = True

    splits: tuple[Split, ...]
    bounded: bool = False
    serializer_version: Version = SERIALIZER.version


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """A custom event of the source, from a reader. `id` is the same in each repetition."""

    id: Annotated[str, Meta(min_length=1, max_length=ID_LIMIT)]
    event: SourceEventBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEventToReaders:
    """A custom event of the source for its readers, or for one `subtask`. `id` is the same in each
    repetition, and empty if there is none.
    """

    CLOSED: ClassVar[bool] = True

    event: SourceEventBody
    subtask: Count | None = None
    id: Id = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSourceEvent:
    """A custom event of the source, for a reader. Later ones have higher numbers."""

    number: Positive
    event: SourceEventBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitExchange:
    """All that one reader reports about its splits.

    `held` is the snapshot: every split that it holds, at its position. It no longer holds those in
    `given_back` and `finished`. `capacity` is its share relative to that of other readers.
    `discovery_interval_ms` is how often it can discover splits; 0 for once, None for never. `seen`
    is the revision of the last answer that it received.
    """

    epoch: Positive
    held: Annotated[tuple[NumberedSplit, ...], Required] = ()
    given_back: tuple[NumberedSplit, ...] = ()
    finished: tuple[NumberedSplit, ...] = ()
    capacity: Annotated[int, Meta(ge=0, le=CAPACITY_LIMIT)] = 1
    request_split: bool = False
    discovery_interval_ms: Count | None = None
    discovered: DiscoveredSplits | None = None
    seen: Count | None = None
    is_processing_backlog: bool = False
    source_events: Annotated[tuple[SourceEvent, ...], Meta(max_length=SOURCE_EVENTS_KEPT)] = ()
    source_events_seen: Count = 0
    report: ReportedWatermarkEvent | None = None
    serializer_version: Version = SERIALIZER.version

    def __post_init__(self) -> None:
        for name in ("held", "given_back", "finished"):
            _check_once(name, getattr(self, name))
        if self.report is not None and self.report.epoch != self.epoch:
            raise InvalidValue("report.epoch", f"must be that of the exchange, {self.epoch}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedSplit:
    """A split that the reader presented but does not hold under this number (any more)."""

    split: Name
    assignment: Integer


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """All that a reader is to do with its splits.

    `add_splits` are its own splits that it did not name. `give_back` are the ids of splits to drain
    and to give back. It must not read those in `stop` any more. `discover` is the number of a
    request to list the source's splits. Nothing is assigned yet for `assigning_in_ms`.
    """

    group: Name
    source: Name
    subtask: Count
    epoch: Positive
    revision: Count
    lease_ms: Positive
    update_interval_ms: Positive
    alignment: WatermarkAlignmentEvent
    add_splits: tuple[NumberedSplit, ...] = ()
    give_back: tuple[Name, ...] = ()
    stop: tuple[StoppedSplit, ...] = ()
    no_more_splits: bool = False
    discover: Count | None = None
    is_processing_backlog: bool = False
    source_events: tuple[NumberedSourceEvent, ...] = ()
    assigning_in_ms: Count = 0
    serializer_version: Version = SERIALIZER.version


def _check_once(field: str, splits: tuple[NumberedSplit, ...]) -> None:
    """Raise `InvalidValue` if a split is named twice."""
    named = set[str]()
    for index, each in enumerate(splits):
        if each.split.split_id in named:
            raise InvalidValue(f"{field}[{index}].split", f"{each.split.split_id} is named twice")
        named.add(each.split.split_id)
