"""Splits: the smallest parts of a source that can be read, and paused, independently.

For Kafka a split is one partition of one topic, from one offset up to another (Flink's
`KafkaPartitionSplit`). Offsets are positions, or one of these constants:

    starting offset   ≥ 0, EARLIEST, LATEST, COMMITTED, or MIGRATED (in Flink, the split comes from
                      an older state, which has no starting offset)
    stopping offset   ≥ 0, LATEST, COMMITTED, or NO_STOPPING_OFFSET (read for ever); never EARLIEST

If the stopping offset is before the starting one, the split has no records.
"""

from dataclasses import dataclass

from lockgate.errors import InvalidValue
from lockgate.watermark import MIN

LATEST_OFFSET = -1
EARLIEST_OFFSET = -2
COMMITTED_OFFSET = -3
NO_STOPPING_OFFSET = MIN
MIGRATED = MIN

_STARTING_WORDS = (LATEST_OFFSET, EARLIEST_OFFSET, COMMITTED_OFFSET, MIGRATED)
_STOPPING_WORDS = (LATEST_OFFSET, COMMITTED_OFFSET, NO_STOPPING_OFFSET)


@dataclass(frozen=True, slots=True, order=True)
class KafkaPartitionSplit:
    """One partition of one topic, and the offsets to read, by default all. Raises `InvalidValue`
    for an empty topic, a negative partition or an invalid offset.
    """

    topic: str
    partition: int
    starting_offset: int = EARLIEST_OFFSET
    raw_stopping_offset: int = NO_STOPPING_OFFSET

    def __post_init__(self) -> None:
        if not self.topic:
            raise InvalidValue("topic", "must not be empty")
        if self.partition < 0:
            raise InvalidValue("partition", f"must be 0 or more, not {self.partition}")
        self._check_offsets()

    @classmethod
    def as_flink(
        cls, topic: str | None, partition: int, starting_offset: int, raw_stopping_offset: int = NO_STOPPING_OFFSET
    ) -> "KafkaPartitionSplit":
        """Return a split, checking only its offsets, as in Flink. Raises `InvalidValue`."""
        split = object.__new__(cls)
        for name, value in zip(
            cls.__match_args__, (topic, partition, starting_offset, raw_stopping_offset), strict=True
        ):
            object.__setattr__(split, name, value)
        split._check_offsets()
        return split

    @property
    def split_id(self) -> str:
        """The split's name, `topic-partition`."""
        return f"{self.topic}-{self.partition}"

    @property
    def stopping_offset(self) -> int | None:
        """The first offset that is not read, LATEST, COMMITTED, or None to read for ever."""
        return None if self.raw_stopping_offset == NO_STOPPING_OFFSET else self.raw_stopping_offset

    @property
    def is_migrated(self) -> bool:
        """Whether the split comes from an older state, so that its starting offset is MIGRATED."""
        return self.starting_offset == MIGRATED

    def __str__(self) -> str:
        return self.split_id

    def _check_offsets(self) -> None:
        start, stop = self.starting_offset, self.raw_stopping_offset
        if start < 0 and start not in _STARTING_WORDS:
            raise InvalidValue(
                "starting_offset",
                f"of {self} must be 0 or more, or one of -1 (latest), -2 (earliest), -3 (committed), not {start}",
            )
        if stop < 0 and stop not in _STOPPING_WORDS:
            raise InvalidValue(
                "stopping_offset",
                f"of {self} must be 0 or more, or one of -1 (latest), -3 (committed), {MIN} (none), not {stop}",
            )


class KafkaPartitionSplitState:
    """A split that is being read. `current_offset` is the next offset to read. Only `to_split`
    checks that it is valid.
    """

    __slots__ = ("current_offset", "split")

    def __init__(self, split: KafkaPartitionSplit) -> None:
        self.split = split
        self.current_offset = split.starting_offset

    def to_split(self) -> KafkaPartitionSplit:
        """Return the split from the current offset on. Raises `InvalidValue` if the offset is
        invalid.
        """
        split = self.split
        return KafkaPartitionSplit.as_flink(
            split.topic, split.partition, self.current_offset, split.raw_stopping_offset
        )

    def __eq__(self, other: object) -> bool:
        """Compare splits without their current offsets, as Flink does. `other` may be a split."""
        return self.split == (other.split if isinstance(other, KafkaPartitionSplitState) else other)

    def __hash__(self) -> int:
        return hash(self.split)
