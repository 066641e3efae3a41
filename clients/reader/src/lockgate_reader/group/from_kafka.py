"""The place (`lockgate_reader.place`) of a reader whose splits are assigned by Kafka's own consumer
group.

Kafka's client reports in callbacks which partitions are assigned and revoked (`kafka.client`). Each
partition is a split that starts at its committed offset. The read limit is that of the alignment
group, if the reader is in one (`reports`). The coordinator then assigns no splits, and stores no
positions.

**Differences from splits that the coordinator assigns.** Positions are in Kafka, so records that
were returned but not committed are returned again. This reader numbers the assignments itself. The
numbers are not fencing tokens, because Kafka provides none with its records. While a partition
moves from one reader to another, neither of them reports it, so the alignment group does not wait
for it during that time.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

from lockgate.flink.splits import COMMITTED_OFFSET, KafkaPartitionSplit
from lockgate_reader.place import AssignedSplit, Key, Orders, Place, ReaderState


class FromKafka(Place):
    """The place of a reader whose splits come from Kafka's group. Its read limit comes from
    `group`, the place of the alignment group; by default, there is no limit.
    """

    def __init__(self, group: Place | None = None) -> None:
        self._group = group or Place()
        self._assigned: dict[Key, AssignedSplit] = {}
        self._revoked: frozenset[str] = frozenset()
        self._numbers = count(1)

    def enter(self, wake: Callable[[], None]) -> None:
        """Join the alignment group, if there is one."""
        self._group.enter(wake)

    def exchange(self, state: ReaderState) -> Orders:
        """Return orders with the splits that Kafka has assigned, and the read limit of the
        alignment group.
        """
        orders = self._group.exchange(state)
        return replace(orders, assigned=tuple(self._assigned.values()), give_back=self._revoked)

    def rebalanced(
        self, *, assigned: Iterable[Key] = (), revoked: Iterable[Key] = (), gone: Iterable[Key] = ()
    ) -> None:
        """Record which partitions Kafka's group has assigned, is revoking, or has taken away."""
        for key in assigned:
            self._assigned[key] = AssignedSplit(KafkaPartitionSplit(*key, COMMITTED_OFFSET), next(self._numbers))
        self._revoked = frozenset(self._assigned[key].split.split_id for key in revoked if key in self._assigned)
        for key in gone:
            self._assigned.pop(key, None)

    def leave(self, state: ReaderState) -> None:
        """Leave the alignment group. Kafka's client leaves Kafka's group itself."""
        self._group.leave(state)

    def abandon(self) -> None:
        """Leave the alignment group in the background."""
        self._group.abandon()
