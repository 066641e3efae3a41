"""A reader's place: it gives the reader splits, takes its state, and sets how far it may read.

The consumer does not depend on a coordinator. It has a `Place`, and exchanges with it the reader's
whole state for the place's whole orders. Both are states, not events, so an exchange may be
repeated or left out.

    the reader                                       its place
    enter(wake)  ─────────────────────────────────►  begins; calls wake() when there is news
    exchange(state)  ─────────────────────────────►
                 ◄─────────────────────────────────  orders: splits to hold, ceiling, deadline
    leave(state)  ────────────────────────────────►  the last state: every split at its end

**Holding.** `Orders.assigned` is all that the reader is to hold. A split that is new there is
opened at its start. A split that is held, and is no longer named with its number, is dropped at
once. A split that `give_back` names is drained: nothing more of it is handed out, and it moves from
`ReaderState.held` to `ReaderState.returned`, at its final position. There it stays until the orders
no longer name it.

**Numbers.** Each assignment of a split has a number that is never used again: its fencing token.
What the reader says of a split, it says of that number.

**The deadline.** The reader hands out nothing at or after `Orders.until`, by
`lockgate_reader.clock.now_s`. It looks at the clock before each record. A later exchange may bring
a later deadline.

**Threads.** The consumer calls all three from the thread that reads. `exchange` must not wait for a
network: it leaves the state to a thread of the place's own, and returns the newest orders that are
there. `wake` may be called from any thread.

`Alone` is the place of a reader without a coordinator: it holds every split of its topics.
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
    """The assignment of a split to a reader.

    The reader starts at the split's starting offset: a number, or one of the named offsets of
    `lockgate.flink.splits`, such as `EARLIEST_OFFSET`. `number` identifies the assignment and is
    never used again.
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

    `watermark` is that of the source in ms, and MIN before the first one. With `idle`, nobody waits
    for the reader; with `ended`, nothing is left to read, ever. Up to `reach` the records of all
    splits are fetched. `held` makes the list of what the reader holds; it is called within the
    exchange or not at all. `returned` splits were given back, at their final positions, and
    `finished` ones were read to their stopping offset. `discovered` are the splits of the topics
    when they were listed last, None before. A reader that holds no split `wants_splits`.
    `source_events` are those that the program sent since the last exchange.
    """

    watermark: int = MIN
    reach: int = MIN
    idle: bool = False
    ended: bool = False
    held: Callable[[], Sequence[ReaderSplit]] = tuple
    returned: tuple[ReaderSplit, ...] = ()
    finished: tuple[ReaderSplit, ...] = ()
    discovered: tuple[KafkaPartitionSplit, ...] | None = None
    wants_splits: bool = False
    source_events: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The whole orders of a place.

    No record above `ceiling` is returned, nor above the reader's own limit, and none after the
    deadline `until`. `assigned` has every split to hold, or is None while the place does not know:
    the reader then goes on with what it has. Splits that `give_back` names are to be returned. With
    `no_more_splits`, none will be added. `discover` is the number of a request to list the splits
    of the topics; a new number is a new request. `waits_for` says in words what the ceiling waits
    for. The program gets each of the `source_events` once.
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
    """Gives splits, takes the reader's state, and says how far the reader may read."""

    def enter(self, wake: Callable[[], None]) -> None:
        """Begin, once. `wake` makes the reader exchange at once."""

    def exchange(self, state: ReaderState) -> Orders:
        """Take the state, and return the newest orders. Raises `AlignmentError` if the reader must
        end.
        """
        raise NotImplementedError

    def rebalanced(
        self, *, assigned: Iterable[Key] = (), revoked: Iterable[Key] = (), gone: Iterable[Key] = ()
    ) -> None:
        """Take what Kafka's consumer group has changed: partitions that come, are to be returned,
        or are no longer this reader's.
        """

    def leave(self, state: ReaderState) -> None:
        """Take the last state; nothing is returned any more."""

    def abandon(self) -> None:
        """Give up a reader that was dropped without `leave`.

        It may be called while objects are collected, in any thread, so it takes no lock and does
        not wait.
        """


class Alone(Place):
    """The place of a reader without a coordinator: every split of the topics is its own, as soon as
    it is discovered.

    The first splits begin at `start`, and those found later at their first record. Topics are
    listed every `discovery_ms` of the monotonic clock `now_ms`; once if that is 0, or if the reader
    is `bounded`.
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
        """Return all splits that were discovered, and ask to discover again when it is time."""
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
