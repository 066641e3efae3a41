"""The values of a split enumerator.

An `Enumerator` is an immutable value, as a group is. Each split is in one place: held by one reader
(`SplitOwner.held`), free, or finished. Readers are identified by subtask and epoch. Of two epochs
of one subtask the older one is *fenced*: it gets no more splits, and keeps those that it holds
until its lease has ended, because it may not yet have learned that it is fenced.

This follows Flink's `SplitAssignmentTracker` and the state of its `KafkaSourceEnumerator`. There,
splits have no positions, because Flink keeps the positions in checkpoints.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lockgate.flink.splits import KafkaPartitionSplit

ReaderId = tuple[int, int]
"""A reader's subtask and epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSplit:
    """A split that a reader holds, at the position of its last snapshot. `number` is the number of
    its assignment. `since` is the time (ms) of the assignment or, if the reader has presented the
    split after a loss, the time (ms) since which the reader is known to hold it.
    """

    split: KafkaPartitionSplit
    number: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSplit:
    """A split that no reader holds. `number` is the number of its last assignment, or a newer one
    if it was given back; 0 means never assigned. `last` is the subtask that had it last, and
    `watermark` (ms) is the split's last watermark there.
    """

    split: KafkaPartitionSplit
    number: int = 0
    last: int | None = None
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOwner:
    """One epoch of a reader. Its lease is `lease_ms` long and began with its last exchange, at
    `heard_at`. The reader is `excused` if a silence of all readers has extended this lease already.

    `held` contains the splits that it holds, and `arriving` the watermarks (ms) of the splits on
    their way to it, both by split id. `revoked` contains the ids of splits that it has to give
    back. It gets SourceEvents with numbers above `events_from`. `capacity`,
    `discovery_interval_ms`, `is_processing_backlog` and `requests` (whether it asks for a split)
    are from its last exchange.
    """

    heard_at: int
    lease_ms: int
    capacity: int = 1
    discovery_interval_ms: int | None = None
    is_processing_backlog: bool = False
    requests: bool = False
    excused: bool = False
    events_from: int = 0
    revoked: frozenset[str] = frozenset()
    arriving: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, OwnedSplit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedEvent:
    """A SourceEvent as JSON text, for one `subtask`, or for all if that is None. `id` is the same
    each time the event is sent, and empty for an event that is sent only once.
    """

    number: int
    text: str
    subtask: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedEvent:
    """A SourceEvent from a reader, as JSON text, received at `at` (ms)."""

    id: str
    subtask: int
    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerator:
    """The enumerator of one source. Times are the store's, in ms.

    The present history began at `began_at`: the store has all commits since then. If `lost_history`
    is true, the store has lost commits of an earlier history, of which only numbers up to
    `known_to` are known. Until `survivors_until`, a reader may still read splits that it got before
    `began_at`.

    `last_number` is the highest number of any assignment or SourceEvent so far. Nothing is assigned
    before `assigning_at`. `heard_at` is the time of the last exchange of any reader. `listed` is
    true once a list of the splits has come since `began_at`. The last list came at `discovered_at`
    from the subtask `discoverer`, or from an operator if that is None. `static` is true once an
    operator has set a list, and `bounded` if the source will never have other splits. `missing`
    contains the ids of unfinished splits that the last list has not named.
    """

    began_at: int
    revision: int
    assigning_at: int
    survivors_until: int = 0
    last_number: int = 0
    known_to: int = 0
    heard_at: int | None = None
    lost_history: bool = False
    static: bool = False
    bounded: bool = False
    listed: bool = False
    discovered_at: int | None = None
    discoverer: int | None = None
    missing: frozenset[str] = frozenset()
    to_readers: tuple[MailedEvent, ...] = ()
    from_readers: tuple[ReceivedEvent, ...] = ()
    readers: Mapping[ReaderId, SplitOwner] = field(default_factory=dict)
    free: Mapping[str, FreeSplit] = field(default_factory=dict)
    finished: Mapping[str, FreeSplit] = field(default_factory=dict)

    def newest(self) -> dict[int, int]:
        """Return the newest epoch of each subtask. Readers with another epoch are fenced."""
        return newest_of(self.readers)

    def ids(self) -> Iterator[str]:
        yield from self.free
        yield from self.finished
        for reader in self.readers.values():
            yield from reader.held

    def count(self) -> int:
        return len(self.free) + len(self.finished) + sum(len(reader.held) for reader in self.readers.values())


def newest_of(readers: Iterable[ReaderId]) -> dict[int, int]:
    """Return the newest epoch of each subtask among these readers."""
    found = dict[int, int]()
    for subtask, epoch in readers:
        found[subtask] = max(epoch, found.get(subtask, 0))
    return found


def position_after(old: KafkaPartitionSplit, new: KafkaPartitionSplit, *, restored: bool) -> KafkaPartitionSplit:
    """Return `old` or `new`, whichever has the higher position, because `new` may come from a late
    message. If `restored` is true, return `new`. A symbolic position is below any offset.
    """
    goes_back = 0 <= old.starting_offset > new.starting_offset
    return old if goes_back and not restored else new
