"""The values of a split enumerator.

An `Enumerator` is an immutable value, like a `Group`. Each split is in one place: held by one
reader (`SplitOwner.held`), free, or finished. Readers are identified by subtask and epoch. Of two
epochs of one subtask the older one is *fenced*: it gets no more splits, and keeps those that it
holds until its lease has ended, because it may not yet have learned that it is fenced.

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
    """A split that a reader holds. `split` has the position in the reader's last snapshot
    (`SplitExchange.held`), and `number` is the number of the assignment. `since` is the time (ms)
    of the assignment. If the store has lost commits and the reader has presented the split
    afterwards, it is the time (ms) since which the reader is known to hold the split.
    """

    split: KafkaPartitionSplit
    number: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSplit:
    """A split that no reader holds, because it is free or finished. `number` is the number of the
    last assignment, a newer one if the split was given back, and 0 if it was never assigned. `last`
    is the subtask that had the split last, or None if that is not known. `watermark` (ms) is the
    split's last watermark at that subtask, or None if no reader waits for the split.
    """

    split: KafkaPartitionSplit
    number: int = 0
    last: int | None = None
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOwner:
    """One epoch of a reader. Its lease is `lease_ms` long and began with its last exchange, at
    `heard_at`. The reader is `excused` if a silence of all readers has extended this lease already.

    `held` contains the splits that the reader holds, and `arriving` the watermarks (ms) of the
    splits on their way to it (`arrivals`), both by split id. `revoked` contains the ids of splits
    that it has to give back. It gets SourceEvents with numbers above `events_from`. `capacity`,
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
    """A SourceEvent to readers, as JSON `text`. It is for one `subtask`, or for all if that is
    None. Later events have higher numbers. Each request to send the event has the same `id`. If
    `id` is empty, a repeated request is not recognised.
    """

    number: int
    text: str
    subtask: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedEvent:
    """A SourceEvent from the reader `subtask`, as JSON `text`, received at `at` (ms). Each
    repetition has the same `id`.
    """

    id: str
    subtask: int
    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerator:
    """The enumerator of one source. Times are the store's, in ms.

    The present history began at `began_at`: the store has all commits since then. If `lost_history`
    is true, the store has lost commits of an earlier history. Of that history, only assignment
    numbers up to `known_to` are known. Until `survivors_until`, a reader may still read splits that
    it got before `began_at`.

    `revision` rises whenever splits are added, assigned, revoked, freed or finished. `last_number`
    is the highest number of any assignment or SourceEvent so far. Nothing is assigned before
    `assigning_at`. `heard_at` is the time of the last exchange of any reader. `listed` is true once
    a list of the splits has come since `began_at`, or an operator has set one. The last list came
    at `discovered_at` from the subtask `discoverer`, or from an operator if that is None. `static`
    is true once an operator has set a list, and `bounded` if the source will never have other
    splits. `missing` contains the ids of unfinished splits that the last list has not named.
    `to_readers` and `from_readers` contain the last SourceEvents in each direction.
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
    """Return the newest epoch of each subtask among `readers`."""
    found = dict[int, int]()
    for subtask, epoch in readers:
        found[subtask] = max(epoch, found.get(subtask, 0))
    return found


def position_after(old: KafkaPartitionSplit, new: KafkaPartitionSplit, *, restored: bool) -> KafkaPartitionSplit:
    """Return `old` or `new`, whichever has the higher position, because `new` may come from a late
    message. A symbolic position (such as *earliest*) is below any offset, and of two symbolic ones
    `new` is returned. If `restored` is true, a user has restored the position of `new`, so return
    `new` in any case.
    """
    goes_back = 0 <= old.starting_offset > new.starting_offset
    return old if goes_back and not restored else new
