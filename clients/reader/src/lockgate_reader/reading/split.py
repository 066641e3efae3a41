"""One partition being read: its position, its fetched records, its watermark, and its end."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import NO_STOPPING_OFFSET, KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX, MIN
from lockgate_reader import clock
from lockgate_reader.place import AssignedSplit, Key, ReaderSplit
from lockgate_reader.reading.records import FetchedRecords, Piece

# How long Kafka's answer about an end is valid, which is longer than Kafka takes for a slow answer.
FRESH_MS = 3_000

_offset = methodcaller("offset")


class OpenSplit:
    """A partition that is read under the assignment `number`, up to the offset `stop` if it is set.

    `end` is the offset up to which Kafka's client has read the partition to its end, or to `stop`.
    `quiet_since` is the monotonic time (ms) since which Kafka has sent and confirmed nothing. The
    split is `queued` while its next record may be returned, and `waits` while that is above the
    read limit. It is `paused` in Kafka's client. `furthest` is the highest position in a former
    topic of the same name.
    """

    def __init__(self, assigned: AssignedSplit, start: int, stop: int | None, strategy: WatermarkStrategy) -> None:
        self.key: Key = (assigned.split.topic, assigned.split.partition)
        self.name, self.number, self.stop = assigned.split.split_id, assigned.number, stop
        self._position, self.watermark = start, SplitWatermark(strategy)
        self.fetched: deque[FetchedRecords] = deque()
        self.kept = self.furthest = 0
        self.open = True
        self.paused = self.queued = self.waits = False
        self.going: Piece | None = None
        self.end = 0
        self.quiet_since: int | None = None
        # Monotonic time (ms) of the first and the last query that confirmed the end, and wall-clock
        # time (ms) of the last one.
        self._silent: tuple[int, int, int] | None = None

    @property
    def position(self) -> int:
        """Return the offset after the last record that the program has taken."""
        going = self.going  # another thread may ask
        position = None if going is None else going.position
        return self._position if position is None else position

    @property
    def next_time(self) -> int | None:
        """Return the event time (ms) of the next record; None if it is not fetched."""
        return self.fetched[0].times[self.fetched[0].at] if self.fetched else None

    def clip(self, messages: Sequence[Any], start: int, end: int) -> tuple[int, int]:
        """Return the range, within `start` to `end`, of messages from the position to `stop`."""
        if messages[start].offset() < self._position:
            start = bisect_left(messages, self._position, start, end, key=_offset)
        if self.stop is not None and messages[end - 1].offset() >= self.stop:
            self.end = max(self.end, self.stop)
            end = bisect_left(messages, self.stop, start, end, key=_offset)
        return start, end

    def take(self, records: FetchedRecords) -> None:
        self.fetched.append(records)
        self.kept += len(records.messages)
        self._silent = self.quiet_since = None

    def next_piece(self, limit: int, most: int) -> Piece | None:
        """Return the next piece, of at most `most` records up to the read limit `limit` (ms)."""
        if not self.fetched or not self.open:
            return None
        records = self.fetched[0]
        end = records.admitted(limit, most)
        if end > records.at:
            return Piece(self.key, records, end)
        self.watermark.waits(records.messages[records.at], records.times[records.at])
        return None

    def account(self, count: int) -> None:
        """End the current piece, of which the first `count` records were returned."""
        piece, self.going = self.going, None
        if piece is None or not count:
            return
        records, at = piece.fetched, piece.fetched.at
        self._position = records.messages[at + count - 1].offset() + 1
        records.at += count
        self.kept -= count
        self.watermark.returned(records, at, at + count)
        if records.at == len(records.messages):
            self.fetched.popleft()

    def go_to(self, position: int) -> None:
        self._position, self.quiet_since = position, None

    def begin_again(self, start: int, end: int) -> None:
        """Drop the fetched records, and continue at `start` in a new log that ends at `end`."""
        self.furthest = max(self.furthest, self._position)
        self._position = start
        self.fetched.clear()
        self.kept = self.end = 0
        self.paused = self.waits = False
        self._silent = self.quiet_since = None
        if self.stop is not None:
            self.stop = end

    def confirm_end(self, end: int, asked: tuple[int, int]) -> None:
        """Process that the log ended at `end` at the monotonic and wall-clock time (ms) `asked`."""
        if self.fetched or end > max(self._position, self.end):
            self._silent = None
        else:
            self._silent = (self._silent[0] if self._silent else asked[0], *asked)

    def silent_until(self, now_ms: int) -> int | None:
        """Return the wall-clock time (ms) at which Kafka last confirmed that no record is left;
        None if that was over `FRESH_MS` before the monotonic time `now_ms`, or if records came.
        """
        silent = self._silent  # another thread may ask
        return silent[2] if silent and now_ms - silent[1] <= FRESH_MS else None

    def silent_ms(self, now_ms: int) -> int:
        """Return for how long (ms) Kafka has confirmed that no record is left to fetch."""
        return self._silent[1] - self._silent[0] if self._silent and self.silent_until(now_ms) is not None else 0

    @property
    def finished(self) -> bool:
        return self.stop is not None and not self.fetched and max(self._position, self.end) >= self.stop

    def rest(self) -> KafkaPartitionSplit:
        return KafkaPartitionSplit(*self.key, self.position, NO_STOPPING_OFFSET if self.stop is None else self.stop)

    def held(self) -> ReaderSplit:
        following = self.next_time
        return ReaderSplit(
            self.rest(),
            self.number,
            self.watermark.value,
            self.watermark.idle,
            paused=self.waits,
            next_time=None if following == NO_TIMESTAMP else following,
            went_back=self.position < self.furthest,
        )


class SplitWatermark:
    """The watermark of one split, which receives the output of its generator. `value` (ms) never
    falls, and is MIN at first. Other splits do not wait for an `idle` one.

    The generator gets each record once it has been returned, and the first record above the read
    limit while that waits, or the watermark would never cross a gap in event time. The watermark is
    then capped below this record. While Kafka confirms that the split was read to its end (`ends`),
    the watermark follows the wall clock at the distance of `idle_timeout`. Without an idle timeout,
    other splits wait for this one, as in Flink, unless none of its records had an event time.
    """

    __slots__ = ("_cap", "_generator", "_next", "_stamped", "idle", "value")

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._generator = strategy.make_generator(clock)  # without its idle timeout
        self.value, self.idle = MIN, False
        self._cap = MAX
        self._next: Any = None
        self._stamped: bool | None = None  # whether a record had an event time; None: no record yet

    def returned(self, records: FetchedRecords, start: int, end: int) -> None:
        self._cap, highest = MAX, records.latest(start, end)
        if highest == NO_TIMESTAMP:
            self._stamped = bool(self._stamped)
        else:
            self._stamped, self.idle = True, False
            if self._generator.only_highest_counts:
                self._generator.on_event(None, highest, self)
            else:
                for message, at in zip(records.messages[start:end], records.times[start:end], strict=True):
                    if message is not self._next and at != NO_TIMESTAMP:
                        self._generator.on_event(message, at, self)
        self._next = None
        self.emit()

    def waits(self, message: Any, at: int) -> None:
        """Pass the next record, above the read limit, to the generator once. Cap the watermark."""
        if message is not self._next:
            self._stamped, self.idle = True, False
            self._next, self._cap = message, at - 1
            self._generator.on_event(message, at, self)
            self.emit()

    def silent(self, horizon: int | None) -> None:
        """Raise the watermark to `horizon` (ms), now that the partition was read to its end. If
        `horizon` is None, mark the split as idle if none of its records had an event time.
        """
        if horizon is not None:
            self.value = max(self.value, horizon)
        elif self._stamped is False:
            self.idle = True

    def emit(self) -> None:
        self._generator.on_periodic_emit(self)

    def emit_watermark(self, timestamp: int) -> None:
        timestamp = min(timestamp, self._cap)
        if timestamp > self.value:
            self.value, self.idle = timestamp, False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False
