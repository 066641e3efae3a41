"""The interface between a reader and its `Place`, which assigns splits and sets the read limit.

In each call of `exchange`, the reader passes its whole state, and gets all orders that now apply,
so a call may be repeated or left out. A split in `Orders.give_back` moves from `ReaderState.held`
to `returned` with its final position, and stays there until the orders no longer contain it. The
reader closes a split at once if `Orders.assigned` no longer has it under the same number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.watermark import MAX, MIN
from lockgate_http.errors import AlignmentError
from lockgate_reader.clock import monotonic_ms

Key = tuple[str, int]  # a topic and a partition


class NoStartingOffset(AlignmentError):
    """Raised if a split has no position to continue from, and the options do not give one: no
    offset was committed, Kafka has deleted the next record, or the topic was created again.
    """


@dataclass(frozen=True, slots=True)
class AssignedSplit:
    """A split to read from its starting offset. `number` is this assignment's fencing token."""

    split: KafkaPartitionSplit
    number: int


@dataclass(frozen=True, slots=True)
class ReaderSplit:
    """A split that the reader owns, with its position.

    Attributes:
        split: The split. Its starting offset is that of the next record to return.
        number: Fencing token of the split's assignment.
        watermark: The split's watermark in ms; MIN before the first record.
        idle: Whether other splits need not wait for this one.
        paused: Whether the split's next record is above the read limit.
        next_time: Event time (ms) of the next record; None if it is not known.
        went_back: Whether the position is below the assignment's starting offset, or below one in a
            former topic of the same name. It then counts as it is.

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
    """The whole state of a reader. Event times are in ms."""

    reach: int = MIN  # event time up to which the records of all splits are fetched
    idle: bool = False  # other readers do not wait for this one
    ended: bool = False  # nothing is left to read, now or later
    held: tuple[ReaderSplit, ...] = ()
    returned: tuple[ReaderSplit, ...] = ()  # given back, at their final positions
    finished: tuple[ReaderSplit, ...] = ()  # read to their stopping offsets
    discovered: tuple[KafkaPartitionSplit, ...] | None = None  # those of the last list of the topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """All instructions of a `Place` to its reader. No record is returned above the event time
    `ceiling` (ms), or at or after the deadline `until` (seconds of `lockgate_reader.clock.now_s`).
    """

    ceiling: int = MAX
    until: float = inf
    assigned: tuple[AssignedSplit, ...] | None = None  # None keeps the splits that the reader has
    give_back: frozenset[str] = frozenset()  # ids
    no_more_splits: bool = False  # no split will be added later
    discover: int = 0  # number of the latest request to list the splits of the topics
    waits_for: str = ""  # what keeps the ceiling from rising


class Place:
    """The base class, for a reader without a coordinator whose partitions Kafka's group assigns."""

    def enter(self, wake: Callable[[], None]) -> None:
        """Start the place. It may call `wake` from any thread when it has new orders."""

    def exchange(self, state: ReaderState) -> Orders:
        """Process the `state`, and return the newest orders. Do not wait for the network."""
        return Orders()

    def leave(self, state: ReaderState) -> None:
        """Process the final `state` of the reader, which returns no more records, and stop."""

    def abandon(self) -> None:
        """Stop, without waiting. Garbage collection calls this for a reader that was not closed."""


class Alone(Place):
    """Assigns all splits of the topics to one reader. They are listed every `discovery_ms`, or only
    once if that is 0. A split that the first list lacked starts at its first record, unless the
    options have an offset for it. So do all that are not in `known`, those of a snapshot.
    """

    def __init__(self, *, discovery_ms: int, known: Sequence[KafkaPartitionSplit] = ()) -> None:
        self._discovery_ms = discovery_ms
        self._assigned = {split.split_id: AssignedSplit(split, 1) for split in known}
        self._asked, self._asked_at = 1, monotonic_ms()
        self._seen: tuple[KafkaPartitionSplit, ...] | None = None

    def exchange(self, state: ReaderState) -> Orders:
        if state.discovered is not None and state.discovered is not self._seen:
            first = self._seen is None and not self._assigned
            for split in state.discovered:
                begins_at = split.starting_offset if first or split.starting_offset >= 0 else EARLIEST_OFFSET
                new = AssignedSplit(replace(split, starting_offset=begins_at), 1)
                self._assigned.setdefault(split.split_id, new)
            self._seen = state.discovered
        if self._seen is not None and 0 < self._discovery_ms <= monotonic_ms() - self._asked_at:
            self._asked, self._asked_at = self._asked + 1, monotonic_ms()
        return Orders(
            assigned=tuple(self._assigned.values()),
            discover=self._asked,
            no_more_splits=self._seen is not None and not self._discovery_ms,
        )
