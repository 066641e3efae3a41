"""The splits of a reader in Kafka's own consumer group, which assigns the partitions.

Kafka's client reports in callbacks which partitions are assigned and revoked (`kafka.client`). Each
partition is a split that starts at its committed offset. The read limit is that of the alignment
group, if the reader is in one. The coordinator then assigns no splits, and stores no positions.

**Differences from splits that the coordinator assigns.** Positions are in Kafka, so records that
were returned but not committed are returned again. This reader numbers the assignments itself. The
numbers are not fencing tokens, because Kafka provides none with its records. While a partition
moves from one reader to another, neither of them reports it, so the alignment group does not wait
for it during that time.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from lockgate.flink.splits import COMMITTED_OFFSET, KafkaPartitionSplit
from lockgate_reader.place import AssignedSplit, Key, Orders


class FromKafka:
    """The splits that Kafka's group has assigned to one reader."""

    def __init__(self) -> None:
        self._assigned: dict[Key, AssignedSplit] = {}
        self._revoked: frozenset[str] = frozenset()
        self._numbers = count(1)

    def orders(self, orders: Orders) -> Orders:
        """Return the `orders` of the alignment group, with the splits that Kafka has assigned."""
        return replace(orders, assigned=tuple(self._assigned.values()), give_back=self._revoked)

    def rebalanced(
        self, *, assigned: Iterable[Key] = (), revoked: Iterable[Key] = (), gone: Iterable[Key] = ()
    ) -> None:
        """Record a rebalance: `assigned` partitions are new, `revoked` ones must be given back, and
        `gone` ones no longer belong to this reader.
        """
        for key in assigned:
            self._assigned[key] = AssignedSplit(KafkaPartitionSplit(*key, COMMITTED_OFFSET), next(self._numbers))
        self._revoked = frozenset(self._assigned[key].split.split_id for key in revoked if key in self._assigned)
        for key in gone:
            self._assigned.pop(key, None)
