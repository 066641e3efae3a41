"""One split while it is read: its position, what was fetched and has not gone out, and what is
known of its end.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from lockgate.flink.splits import NO_STOPPING_OFFSET, KafkaPartitionSplit
from lockgate.watermark import MIN
from lockgate_reader.place import ReaderSplit
from lockgate_reader.reading.fetched import FetchedRecords, first_at

Key = tuple[str, int]


class OpenSplit:
    """`position`: the next offset to go out. `number`: of its assignment. `kept`: how many fetched
    records have not gone out. `next_time`: the event time of the record that the ceiling keeps
    back; None where it keeps none. `halted`: paused by the operator. `fetching`: whether Kafka's
    client fetches it. `end`: where Kafka said that it ends. `silent_since`: the monotonic ms since
    which it has been read to its end, None where it is not; `silent_until`: the last moment at
    which Kafka confirmed it, as (monotonic, wall clock). `furthest`: the position from which it
    began again; 0 where it did not.
    """

    __slots__ = (
        "end",
        "fetched",
        "fetching",
        "furthest",
        "halted",
        "kept",
        "key",
        "name",
        "next_time",
        "number",
        "past_stop",
        "position",
        "queued",
        "silent_since",
        "silent_until",
        "stop",
    )

    def __init__(self, split: KafkaPartitionSplit, number: int, start: int, stop: int | None) -> None:
        self.key: Key = (split.topic, split.partition)
        self.name = split.split_id
        self.number = number
        self.position = start
        self.stop = stop
        self.fetched: deque[FetchedRecords] = deque()
        self.kept = 0
        self.next_time: int | None = None
        self.halted = self.queued = self.past_stop = False
        self.fetching = True
        self.furthest = 0
        self.end: int | None = None
        self.silent_since: int | None = None
        self.silent_until: tuple[int, int] | None = None

    def clip(self, messages: Sequence[Any]) -> tuple[int, int]:
        """From and up to which index these messages are still to go out: not before the position,
        nor behind the stopping offset.
        """
        start, end = 0, len(messages)
        if messages[0].offset() < self.position:
            start = first_at(messages, self.position)
        if self.stop is not None and messages[-1].offset() >= self.stop:
            self.past_stop = True
            end = first_at(messages, self.stop)
        return start, max(start, end)

    def take(self, records: FetchedRecords) -> None:
        """Keep fetched records."""
        self.fetched.append(records)
        self.kept += records.left
        self.silent_since = None

    def gone(self, records: FetchedRecords, count: int) -> None:
        """Note that the next `count` records of its first fetch have gone out."""
        self.position = records.messages[records.at + count - 1].offset() + 1
        records.at += count
        self.kept -= count
        if not records.left:
            self.fetched.popleft()

    def begin_again(self, start: int, end: int) -> None:
        """Go on in another log, from `start` on. What was fetched is of the former one. A split
        that was to end ends where this log does.
        """
        self.furthest = max(self.furthest, self.position)
        self.position = start
        self.fetched.clear()
        self.kept = 0
        self.fetching, self.past_stop = True, False
        self.end = self.silent_since = self.silent_until = None
        if self.stop is not None:
            self.stop = end

    def confirm_end(self, end: int, asked: tuple[int, int]) -> None:
        """Take in Kafka's answer that the split ends at `end`, and when Kafka was asked."""
        if not self.fetched and end <= max(self.position, self.end or 0):
            self.silent_until = asked
            if self.silent_since is None:
                self.silent_since = asked[0]
        else:
            self.silent_since = None

    @property
    def has_begun(self) -> bool:
        """Return whether records of it were left out, fetched or handed out: it is not whole."""
        return self.position > 0 or bool(self.fetched)

    @property
    def at_end(self) -> bool:
        """Return whether all that Kafka had was read when it was last asked."""
        return self.silent_since is not None and not self.fetched

    @property
    def finished(self) -> bool:
        """Return whether it was read to its stopping offset."""
        if self.stop is None or self.fetched:
            return False
        return self.past_stop or max(self.position, self.end or 0) >= self.stop

    @property
    def paused(self) -> bool:
        """Return whether its next record is above the ceiling, or the operator has paused it."""
        return self.halted or self.next_time is not None

    def rest(self, position: int) -> KafkaPartitionSplit:
        """Return the split from this offset on."""
        stop = NO_STOPPING_OFFSET if self.stop is None else self.stop
        return KafkaPartitionSplit(*self.key, position, stop)

    def held(self, position: int, watermark: int = MIN, idle: bool = False) -> ReaderSplit:
        """Return the split as its place and `status` see it."""
        went_back = position < self.furthest
        return ReaderSplit(self.rest(position), self.number, watermark, idle, self.paused, self.next_time, went_back)
