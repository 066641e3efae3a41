"""The interface between a reader and its place, which assigns its splits and sets its read limit.

In each exchange, the reader passes its whole state and gets all orders that now apply. Neither is
an event, so an exchange may be repeated or left out.

**Holding.** `Orders.assigned` has every split that the reader should hold. A new split is opened at
its starting offset. A split that is no longer listed under its number is dropped at once. A split
that `give_back` names is drained: no more of its records are returned, and it moves from
`ReaderState.held` to `ReaderState.returned` with its final position. It stays there until the
orders no longer name it.

**Numbers.** Each assignment of a split has a number that is never used again: its fencing token.
All that the reader reports about a split refers to that number.

**The deadline.** No record is returned at or after the time `Orders.until` of
`lockgate_reader.clock.now_s`, which is checked before each record. A later exchange may extend it.

**Threads.** `exchange` must not wait for the network: it passes the state to a thread of the place,
and returns the newest orders that have arrived. `wake` may be called from any thread.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.watermark import MAX, MIN

Key = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True)
class AssignedSplit:
    """A split to read from its starting offset. `number` identifies the assignment, and is never
    used again.
    """

    split: KafkaPartitionSplit
    number: int


@dataclass(frozen=True, slots=True)
class ReaderSplit:
    """A split that the reader owns, with its position.

    Attributes:
        split: The split. Its starting offset is the next record to return.
        number: Fencing token of the split's assignment.
        watermark: The split's watermark in ms; MIN before the first record.
        idle: Whether the split is left out of the watermark, after `idle_timeout` without records.
        paused: Whether the split's next record is above the read limit.
        next_time: Event time (ms) of the next record; None if it is not known.
        went_back: Whether the topic was deleted and created again, so that the split starts over.

    """

    split: KafkaPartitionSplit
    number: int
    watermark: int = MIN
    idle: bool = False
    paused: bool = False
    next_time: int | None = None
    went_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderState:
    """The whole state of a reader.

    `watermark` is the lowest watermark (ms) of the reader's splits, and MIN before the first one.
    Other readers do not wait for an `idle` reader. With `ended`, nothing is left to read, now or
    later. `reach` is the event time (ms) up to which the records of all splits are fetched. `held`
    has the splits that the reader holds. `returned` splits were given back, at their final
    positions, and `finished` ones were read to their stopping offset. `discovered` has the splits
    that the last listing of the topics found; None before the first one. `source_events` are the
    events that the program sent since the last exchange.
    """

    watermark: int = MIN
    reach: int = MIN
    idle: bool = False
    ended: bool = False
    held: tuple[ReaderSplit, ...] = ()
    returned: tuple[ReaderSplit, ...] = ()
    finished: tuple[ReaderSplit, ...] = ()
    discovered: tuple[KafkaPartitionSplit, ...] | None = None
    source_events: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """All orders of a place that now apply.

    No record above `ceiling` (ms) or above the reader's own limit is returned, and none at or after
    the deadline `until` (seconds). `assigned` has every split to hold. It is None while the place
    does not know them; the reader then keeps the splits that it has. `give_back` has the ids of
    splits to give back. With `no_more_splits`, no split will be added. `discover` is the number of
    a request to list the splits of the topics; a new number is a new request. `waits_for` says in
    words what the ceiling waits for. The program gets each of the `source_events` once.
    """

    ceiling: int = MAX
    until: float = inf
    assigned: tuple[AssignedSplit, ...] | None = None
    give_back: frozenset[str] = frozenset()
    no_more_splits: bool = False
    discover: int = 0
    waits_for: str = ""
    source_events: tuple[object, ...] = ()


class Place:
    """The interface that assigns splits to a reader, takes its state and sets its read limit."""

    def enter(self, wake: Callable[[], None]) -> None:
        """Start the place; called once. `wake` makes the reader exchange before its next record."""

    def exchange(self, state: ReaderState) -> Orders:
        """Process `state`, and return the newest orders. Raises an error if the reader must end."""
        return Orders()

    def rebalanced(
        self, *, assigned: Iterable[Key] = (), revoked: Iterable[Key] = (), gone: Iterable[Key] = ()
    ) -> None:
        """Apply a rebalance of Kafka's consumer group: partitions that are new, are to be given
        back, or no longer belong to this reader.
        """

    def leave(self, state: ReaderState) -> None:
        """Leave the place with the final `state`. No record is returned afterwards."""

    def abandon(self) -> None:
        """Give up a reader that was dropped. Garbage collection calls this, so it must not wait."""


class Alone(Place):
    """The place of a reader without a coordinator, which holds all splits of its topics.

    The first splits start at the named offset `start`, and those found later at their first record.
    If `known` splits are restored, all others count as found later. Topics are listed every
    `discovery_ms`, or only once if that is 0 or the reader is `bounded`.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        *,
        start: int,
        discovery_ms: int,
        bounded: bool = False,
        known: Sequence[KafkaPartitionSplit] = (),
    ) -> None:
        self._now_ms, self._start = now_ms, start
        self._discovery_ms = 0 if bounded else discovery_ms
        self._assigned = {split.split_id: AssignedSplit(split, 1) for split in known}
        self._gone: set[str] = set()
        self._asked, self._asked_at = 1, now_ms()
        self._seen: tuple[KafkaPartitionSplit, ...] | None = None

    def exchange(self, state: ReaderState) -> Orders:
        """Return all discovered splits that are not finished, and ask for a new list when due."""
        self._gone.update(held.split.split_id for held in state.finished)
        if state.discovered is not None and state.discovered is not self._seen:
            self._add(state.discovered)
        if self._seen is not None and self._discovery_ms and self._now_ms() >= self._asked_at + self._discovery_ms:
            self._asked, self._asked_at = self._asked + 1, self._now_ms()
        return Orders(
            assigned=tuple(each for name, each in self._assigned.items() if name not in self._gone),
            discover=self._asked,
            no_more_splits=self._seen is not None and not self._discovery_ms,
        )

    def _add(self, discovered: tuple[KafkaPartitionSplit, ...]) -> None:
        first = self._seen is None and not self._assigned
        for split in discovered:
            if split.split_id not in self._assigned:
                start = self._start if first else EARLIEST_OFFSET
                start = split.starting_offset if split.starting_offset >= 0 else start
                found = KafkaPartitionSplit(split.topic, split.partition, start, split.raw_stopping_offset)
                self._assigned[split.split_id] = AssignedSplit(found, 1)
        self._seen = discovered


def abandoned(place: Place, name: str) -> None:
    """Abandon the place of a consumer that was dropped without `close`, and warn of it."""
    place.abandon()
    said = f"an AlignedConsumer of {name} was dropped without close(): call it, or use `with`"
    warnings.warn(said, ResourceWarning, stacklevel=2)
