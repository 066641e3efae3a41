"""The wire events of splits: the messages between a reader and its split enumerator.

They have the names and meanings of Flink's operator events, but each carries the complete state
instead of a change. In an exchange, the reader sends all its splits. The answer contains all that
the reader has to do about them.
`docs/internals/protocol.md`, "Splits", gives the rules of both sides and Flink's event for each
field.

Each class is the definition of its JSON, as in `events`.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lockgate.errors import InvalidValue
from lockgate.wire.events import ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate.wire.fields import Count, Integer, Meta, Name, Positive, Required
from lockgate.wire.split_codec import SERIALIZER, SourceEventBody, Split

SOURCE_EVENTS_KEPT = 16
"""The maximum number of SourceEvents in a message, and of those kept in each direction."""

ID_LIMIT = 255
"""The maximum length of a SourceEvent's id."""

CAPACITY_LIMIT = 1_000_000
"""The maximum capacity of a reader."""

Version = Annotated[int, Meta(ge=0, le=SERIALIZER.version)]
Id = Annotated[str, Meta(max_length=ID_LIMIT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSplit:
    """A split with the position to read from, and with the number of its assignment.

    A `restored` position, such as one from a user's snapshot, counts even if it is lower than
    before.
    """

    split: Split
    assignment: Positive
    restored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredSplits:
    """All splits of a source, as a reader has found them.

    `request` is the number in the coordinator's request for the list. If `bounded` is true, the
    source will never have other splits.
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
    """A custom event from a reader, as the source defines it. Each repetition has the same `id`."""

    id: Annotated[str, Meta(min_length=1, max_length=ID_LIMIT)]
    event: SourceEventBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEventToReaders:
    """A custom event for a source's readers, or only for the reader `subtask`.

    Each repetition has the same `id`. With an empty `id`, repetitions are not recognised.
    """

    CLOSED: ClassVar[bool] = True

    event: SourceEventBody
    subtask: Count | None = None
    id: Id = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSourceEvent:
    """A custom event on its way to a reader. Later events have higher numbers."""

    number: Positive
    event: SourceEventBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitExchange:
    """All that one reader reports about its splits.

    Attributes:
        held: The snapshot: every split that the reader holds, at its position.
        given_back: Splits that it has given back, at their final positions.
        finished: Splits that it has read up to their stopping offsets.
        capacity: Its share of splits relative to other readers.
        request_split: Whether it asks for a split.
        discovery_interval_ms: The time between its discoveries of splits. It is 0 if the reader
            discovers them once, and None if it never does.
        discovered: The list that `SplitAnswer.discover` asked for, or None.
        seen: The revision of the last answer that it received, or None.
        is_processing_backlog: Whether it is working through a backlog.
        source_events_seen: The highest number of a SourceEvent that it received.
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
    """A split that the reader presented, but does not hold under this assignment number."""

    split: Name
    assignment: Integer


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """Instructions for a reader about its splits.

    Attributes:
        revision: The enumerator's revision.
        add_splits: The reader's splits that its exchange did not name with their assignment
            numbers.
        give_back: The ids of splits to drain and to give back.
        stop: Splits that the reader must stop reading.
        no_more_splits: Whether the reader can get no more splits.
        discover: The number under which the reader has to list the source's splits, or None.
        is_processing_backlog: Whether any reader is working through a backlog.
        assigning_in_ms: The time within which no split is assigned.
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
    """Raise `InvalidValue`, which names `field`, if `splits` lists a split twice."""
    named = set[str]()
    for index, each in enumerate(splits):
        if each.split.split_id in named:
            raise InvalidValue(f"{field}[{index}].split", f"{each.split.split_id} is named twice")
        named.add(each.split.split_id)
