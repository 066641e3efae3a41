"""The contents of a skewed topic, as pure functions: how many records in which partition, and the
event time of each.

All partitions cover the same span of event time with different densities. A sparse partition is
through its day in few records. So a reader that takes records at equal rates from all of them
drifts apart in event time.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

HOUR_MS = 3_600_000
T0_MS = 1_767_225_600_000  # 2026-01-01T00:00Z
HEADER = struct.Struct(">iqq")
# a value's event time (ms), for Spark
EVENT_TIME_SQL = "CAST(conv(hex(substring(value, 5, 8)), 16, 10) AS BIGINT)"
KEYS = 1_000


class Payload(NamedTuple):
    """The contents of a record's value: its key (0 to 999), its event time in ms since the epoch,
    its number in the whole topic.
    """

    key: int
    event_time_ms: int
    seq: int


def payload(value: bytes) -> Payload:
    """Take a value apart: big-endian int32, int64, int64, then padding."""
    return Payload(*HEADER.unpack_from(value))


@dataclass(frozen=True, slots=True)
class SkewedTopic:
    """A topic whose partitions hold `records` together, shared by `weights`, each over `span_hours`
    from `t0_ms` on.

    `empty`: partition 0 holds nothing. `late_start_hours`: the last `late_partitions` start that
    much later, at their usual density. Within a partition event time never goes back. Raises
    `ValueError` when the fields do not fit together.
    """

    name: str
    weights: tuple[float, ...] = (1, 1, 2, 2, 4, 8, 16, 32)
    records: int = 2_000_000
    span_hours: float = 24.0
    t0_ms: int = T0_MS
    empty: bool = False
    late_start_hours: float = 0.0
    late_partitions: int = 1
    value_bytes: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.late_start_hours < self.span_hours:
            raise ValueError(
                f"late_start_hours must be at least 0 and less than span_hours ({self.span_hours}), not "
                f"{self.late_start_hours}"
            )
        if not 0 <= self.late_partitions <= self.partitions:
            raise ValueError(
                f"late_partitions must be at least 0 and at most the {self.partitions} partitions, not "
                f"{self.late_partitions}"
            )
        if self.value_bytes < HEADER.size:
            raise ValueError(f"value_bytes must be at least {HEADER.size}, not {self.value_bytes}")
        if self.records < 0 or not sum(self.shares()) > 0:
            raise ValueError(f"records must be 0 or more and a weight above 0: {self.records}, {self.weights}")

    @property
    def partitions(self) -> int:
        """How many partitions, one for each weight."""
        return len(self.weights)

    @property
    def end_ms(self) -> int:
        """The end of the span, ms since the epoch; the last records are a little before it."""
        return self.t0_ms + int(self.span_hours * HOUR_MS)

    def counts(self) -> list[int]:
        """Return the number of records in each partition; they add up to `records`."""
        return list(_counts(self))

    def span_ms(self, partition: int) -> tuple[int, int]:
        """Return the event times that a partition covers, from and below, in ms since the epoch."""
        late = self.late_start_hours if partition >= self.partitions - self.late_partitions else 0.0
        return self.t0_ms + int(late * HOUR_MS), self.end_ms

    def event_time(self, partition: int, offset: int) -> int:
        """Event time (and Kafka timestamp) of a record, ms since the epoch. Raises `IndexError`
        when the partition does not hold it.
        """
        count = self.counts()[partition]
        if not 0 <= offset < count:
            raise IndexError(f"{self.name}-{partition} holds {count} records, not offset {offset}")
        low, high = self.span_ms(partition)
        return low + offset * (high - low) // count

    def shares(self) -> list[float]:
        """How the records are shared among the partitions, in any unit."""
        shares = [float(weight) for weight in self.weights]
        if self.empty:
            shares[0] = 0.0
        for partition in range(self.partitions - self.late_partitions, self.partitions):
            shares[partition] *= 1 - self.late_start_hours / self.span_hours
        return shares


@lru_cache(maxsize=16)
def _counts(topic: SkewedTopic) -> tuple[int, ...]:
    shares = topic.shares()
    total = sum(shares)
    counts = [int(topic.records * share / total) for share in shares]
    counts[counts.index(max(counts))] += topic.records - sum(counts)
    return tuple(counts)
