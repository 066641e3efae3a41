"""The wire events of splits: what a reader and its split enumerator tell each other.

They carry Flink's operator events by name and meaning, but as levels: one exchange states all that
a reader has, and its answer all that the reader is to have. `docs/internals/protocol.md`,
"Splits", has the rules of both sides.

    Flink's event              in the exchange          in the answer
    ReaderRegistrationEvent    `epoch`                  (the registration's own answer)
    RequestSplitEvent          `request_split`
    ReportedWatermarkEvent     `report`
    AddSplitEvent                                       `add_splits`
    NoMoreSplitsEvent                                   `no_more_splits`
    WatermarkAlignmentEvent                             `alignment`
    IsProcessingBacklogEvent   `is_processing_backlog`  `is_processing_backlog`
    SourceEventWrapper         `source_events`          `source_events`

Splits are Flink's `KafkaPartitionSplit`. `split_codec` has the JSON form. Used by the coordinator
and by readers that are not Spark.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.events import ReportedWatermarkEvent, WatermarkAlignmentEvent

SOURCE_EVENTS_KEPT = 16
"""The most SourceEvents in one message, and in each direction the most that are kept."""

SOURCE_EVENT_SIZE = 4_096
"""The most bytes of one SourceEvent as JSON."""

CAPACITY_LIMIT = 1_000_000
"""The most that a reader may weigh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSplit:
    """A split from its position on, and the number under which it was assigned. `restored`: the
    reader's user has set the position, so it counts even where it is lower than before.
    """

    split: KafkaPartitionSplit
    assignment: int
    restored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredSplits:
    """All splits of a source as a reader, or an operator, has found them. `bounded`: there will
    never be another one. `request`: the number of the request that a reader answers; None for an
    operator's list.
    """

    splits: tuple[KafkaPartitionSplit, ...]
    bounded: bool = False
    request: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """An event of the source's own, from a reader. `id` is the same in each repetition."""

    id: str
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEventToReaders:
    """An event of the source's own for its readers. `subtask`: None for all. `id`: the same in each
    repetition; empty where there is none.
    """

    event: Mapping[str, Any]
    subtask: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSourceEvent:
    """An event of the source's own, to a reader. Later ones have higher numbers."""

    number: int
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitExchange:
    """All that one reader has to say of its splits.

    `held`: every split that it holds, at its position: the snapshot. `given_back` and `finished`:
    splits that it holds no more. `capacity`: its share, to that of others. `discovery_interval_ms`:
    how often it would discover splits; 0: once; None: it cannot. `seen`: the revision of the
    last answer that it has had.
    """

    epoch: int
    held: tuple[NumberedSplit, ...] = ()
    given_back: tuple[NumberedSplit, ...] = ()
    finished: tuple[NumberedSplit, ...] = ()
    capacity: int = 1
    request_split: bool = False
    discovery_interval_ms: int | None = None
    discovered: DiscoveredSplits | None = None
    seen: int | None = None
    is_processing_backlog: bool = False
    source_events: tuple[SourceEvent, ...] = ()
    source_events_seen: int = 0
    report: ReportedWatermarkEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedSplit:
    """A split that its presenter does not hold under this number, or no longer."""

    split: str
    assignment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """All that a reader is to do with splits.

    `add_splits`: those that are its own, and that it did not name. `give_back`: the ids of those
    that it is to drain and to give back. `stop`: those that it must not read any more. `discover`:
    the number of a request to list the source's splits.
    `assigning_in_ms`: for how long nothing is assigned yet.
    """

    group: str
    source: str
    subtask: int
    epoch: int
    revision: int
    lease_ms: int
    update_interval_ms: int
    alignment: WatermarkAlignmentEvent
    add_splits: tuple[NumberedSplit, ...] = ()
    give_back: tuple[str, ...] = ()
    stop: tuple[StoppedSplit, ...] = ()
    no_more_splits: bool = False
    discover: int | None = None
    is_processing_backlog: bool = False
    source_events: tuple[NumberedSourceEvent, ...] = ()
    assigning_in_ms: int = 0
