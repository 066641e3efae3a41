"""The place of a reader whose splits Kafka's own consumer group assigns.

Kafka's client says in a callback which partitions come and go (`kafka.client`). Each is a split
that begins at its committed offset. The read limit is that of the alignment group, if the reader
is in one (`reports`); the coordinator assigns nothing then, and keeps no positions.

**What differs from splits that the coordinator assigns.** Positions are in Kafka: records that were
returned and not committed are returned again. The number of an assignment is this reader's own
count, and no fencing token: Kafka has none for records. While a partition moves, no report has it,
so for that moment the group does not wait for it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

from lockgate.flink.splits import COMMITTED_OFFSET, KafkaPartitionSplit
from lockgate_reader.place import AssignedSplit, Key, Orders, Place, ReaderState


class FromKafka(Place):
    """The splits that Kafka's group assigns, under the limit of `group`; None for no limit."""

    def __init__(self, group: Place | None) -> None:
        self._group = group
        self._assigned: dict[Key, AssignedSplit] = {}
        self._revoked: frozenset[str] = frozenset()
        self._numbers = count(1)

    def enter(self, wake: Callable[[], None]) -> None:
        """Begin to report to the alignment group."""
        if self._group is not None:
            self._group.enter(wake)

    def exchange(self, state: ReaderState) -> Orders:
        """Return the splits that Kafka has assigned, and the limit of the alignment group."""
        orders = Orders() if self._group is None else self._group.exchange(state)
        return replace(orders, assigned=tuple(self._assigned.values()), give_back=self._revoked)

    def rebalanced(
        self, *, assigned: Iterable[Key] = (), revoked: Iterable[Key] = (), gone: Iterable[Key] = ()
    ) -> None:
        """Take what Kafka's group has changed."""
        for key in assigned:
            self._assigned[key] = AssignedSplit(KafkaPartitionSplit(*key, COMMITTED_OFFSET), next(self._numbers))
        self._revoked = frozenset(self._assigned[key].split.split_id for key in revoked if key in self._assigned)
        for key in gone:
            self._assigned.pop(key, None)

    def leave(self, state: ReaderState) -> None:
        """Leave the alignment group; Kafka's client leaves its own."""
        if self._group is not None:
            self._group.leave(state)

    def abandon(self) -> None:
        """Leave the alignment group in the background."""
        if self._group is not None:
            self._group.abandon()
