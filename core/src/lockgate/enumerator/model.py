"""The values of a split enumerator.

An `Enumerator` is an immutable value, like a `Group`. Each split is in one place: held by one
reader (`SplitOwner.held`), free, or finished. Readers are identified by subtask and epoch. Of two
epochs of one subtask the older one is *fenced*. It gets no more splits. It keeps those that it
holds until its lease has ended, because it may not have learned yet that it is fenced.

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
    """A split that a reader holds.

    Attributes:
        split: The split, at the position in the reader's last snapshot.
        number: The number of the assignment.
        since: The time (ms) since which the reader is known to hold the split: the time of its
            assignment or, after a loss of commits, the later time at which the new enumerator began
            or the reader presented the split to it.
    """

    split: KafkaPartitionSplit
    number: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSplit:
    """A split that no reader holds, because it is free or finished.

    Attributes:
        split: The split, at its last position.
        number: The number of the last assignment, or a newer one if the split was given back. It is
            0 if the split was never assigned.
        last: The subtask that had the split last, or None if that is not known.
        watermark: The split's last watermark (ms) at that subtask, or None if no reader waits for
            it.
    """

    split: KafkaPartitionSplit
    number: int = 0
    last: int | None = None
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOwner:
    """One epoch of a reader. The fields `capacity` to `requests` are from its last exchange.

    Attributes:
        heard_at: The time (ms) of the reader's last exchange, at which its lease began.
        lease_ms: The length of the lease.
        capacity: The reader's share of splits relative to other readers.
        discovery_interval_ms: The time between the reader's discoveries of splits, as in
            `SplitExchange`.
        is_processing_backlog: Whether the reader is working through a backlog.
        requests: Whether the reader asks for a split.
        excused: Whether a silence of all readers has already extended this lease.
        events_from: The reader gets only SourceEvents with numbers above this one.
        revoked: The ids of the splits that the reader has to give back.
        arriving: The watermarks (ms) of the splits that are on their way to the reader, by split id
            (`arrivals`).
        held: The splits that the reader holds, by split id.
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
    """A SourceEvent to readers.

    Attributes:
        number: The number of the event. Later events have higher numbers.
        text: The event as JSON.
        subtask: The reader that gets the event, or None for all readers.
        id: The id of the event, which is the same in each request to send this event. If it is
            empty, repeated requests are not recognised.
    """

    number: int
    text: str
    subtask: int | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedEvent:
    """A SourceEvent that a reader has sent.

    Attributes:
        id: The id of the event, which is the same each time the reader sends this event again.
        subtask: The subtask of the reader.
        at: The time (ms) at which the event was received.
        text: The event as JSON.
    """

    id: str
    subtask: int
    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerator:
    """The enumerator of one source. Times are the store's, in ms.

    A *history* is an unbroken sequence of commits. A new one begins if the store loses commits.

    Attributes:
        began_at: The start of the present history.
        revision: A number that rises whenever splits are added, assigned, revoked, freed or
            finished.
        assigning_at: The time before which nothing is assigned.
        survivors_until: The time until which a reader may still read splits that it got before
            `began_at`.
        last_number: The highest number of any assignment or SourceEvent so far.
        known_to: The highest assignment number known from a lost history.
        heard_at: The time of the last exchange of any reader, or None.
        lost_history: Whether the store has lost commits of an earlier history.
        static: Whether an operator has set the list of splits.
        bounded: Whether the source will never have other splits.
        listed: Whether there is a list of the splits from this history, or from an operator.
        discovered_at: The time when the last list came in this history, or None.
        discoverer: The subtask that sent the last list, or None if an operator set it.
        missing: The ids of unfinished splits that the last list did not name.
        to_readers: The last SourceEvents to readers.
        from_readers: The last SourceEvents from readers.
        readers: All epochs of readers that may hold splits.
        free: The splits that no reader holds, by split id.
        finished: The splits that were read to their stopping offset, by split id.
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
    """Return `old` or `new`, whichever has the higher position, or `new` if it was `restored`.

    A symbolic position (such as *earliest*) is below any offset. Of two symbolic ones, return
    `new`.
    """
    goes_back = 0 <= old.starting_offset > new.starting_offset
    return old if goes_back and not restored else new
