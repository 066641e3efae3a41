"""One partition being read: its position, its fetched records, its watermark, and its end.

Records are returned in the order of their offsets, so the first one whose event time is above the
read limit holds back all that follow. The program gets those of a *piece* from an iterator that
consists of C functions, so no Python code runs for each record unless a lease runs, whose end is
checked before each record.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from itertools import compress, repeat, takewhile
from math import inf
from operator import length_hint, methodcaller
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import NO_STOPPING_OFFSET, KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX, MIN
from lockgate_reader import clock
from lockgate_reader.place import AssignedSplit, Key, ReaderSplit

FUTURE_BOUND_MS = 86_400_000
# How many records are fetched at once, and the largest size of a piece. With more, each fetch would
# start Python's garbage collector, which runs after 700 new objects.
CHUNK = 650
PIECE_MS = 100
# How long Kafka's answer about an end is valid, which is longer than Kafka takes for a slow answer.
FRESH_MS = 3_000

_offset = methodcaller("offset")


class FetchedRecords:
    """Records of one fetch, and their event times in ms, of which the first `at` were returned.

    The `left_out` times below 0, or more than `FUTURE_BOUND_MS` after `now_ms`, are stored as
    `NO_TIMESTAMP`, which is below every limit.
    """

    __slots__ = ("_rises", "at", "highest", "left_out", "messages", "times")

    def __init__(self, messages: list[Any], times: list[int], now_ms: float = inf) -> None:
        self.at = self.left_out = 0
        ordered, latest = sorted(times), now_ms + FUTURE_BOUND_MS  # faster than min() and max() if the times rise
        if ordered[0] < 0 or ordered[-1] > latest:
            times = [time if 0 <= time <= latest else NO_TIMESTAMP for time in times]
            ordered, self.left_out = sorted(times), times.count(NO_TIMESTAMP)
        self.messages, self.times = messages, times
        self.highest, self._rises = ordered[-1], times == ordered

    def admitted(self, limit: int, most: int) -> int:
        """Return the end index of the next `most` records, or of those up to `limit` (ms)."""
        end = min(len(self.messages), self.at + most)
        if self.highest <= limit:
            return end
        if self._rises:
            return bisect_right(self.times, limit, self.at, end)
        return next((index for index in range(self.at, end) if self.times[index] > limit), end)

    def latest(self, start: int, end: int) -> int:
        """Return the highest event time (ms) between the index `start` and `end`."""
        if end - start == len(self.times):
            return self.highest
        return self.times[end - 1] if self._rises else max(self.times[start:end])


class Piece:
    """Records of `split` that are returned together: `fetched`, from its `at` to the index `end`.

    Each record that `begin` returns consumes one element of an `itertools.repeat`, whose remaining
    length gives the number of records returned. The iterator has its own list, and ends once any
    thread empties this list.
    """

    __slots__ = ("_list", "_ticks", "fetched", "messages", "split", "times")

    def __init__(self, split: "OpenSplit", fetched: FetchedRecords, end: int) -> None:
        self.split, self.fetched = split, fetched
        self.messages, self.times = fetched.messages[fetched.at : end], fetched.times[fetched.at : end]
        self._list, self._ticks = list[Any](), repeat(True, 0)

    def begin(self, until: float, now_s: Callable[[], float]) -> Iterator[Any]:
        """Return an iterator over the messages. It ends when the time `now_s()` reaches `until`."""
        self._list, self._ticks = self.messages.copy(), repeat(True, len(self.messages))
        messages = iter(self._list)
        return compress(messages if until == inf else takewhile(lambda _: now_s() < until, messages), self._ticks)

    @property
    def returned(self) -> int:
        """Return how many records were returned; all of them if `begin` was not called."""
        return len(self.messages) - length_hint(self._ticks)

    def call_back(self) -> None:
        """Prevent the rest of the piece from being returned. Any thread may call this."""
        self._list.clear()


def next_size(size: int, count: int, took_ms: int) -> int:
    """Return the size of the next piece, which the program should process in `PIECE_MS`, after it
    took `took_ms` for `count` records of one of at most `size`.
    """
    if took_ms <= PIECE_MS // 2:
        return min(CHUNK, max(size, count * 2))
    return size if took_ms <= PIECE_MS else max(1, min(CHUNK, count * PIECE_MS // took_ms))


class OpenSplit:
    """A partition that is read under the assignment `number`, up to the offset `stop` if it is set.

    `end` is the offset up to which Kafka's client has read the partition to its end, or to `stop`.
    `quiet_since` is the monotonic time (ms) since which Kafka has sent and confirmed nothing. The
    split `waits` while its next record is above the read limit. It is `paused` in Kafka's client.
    `furthest` is the starting offset, or the highest position in a former topic of the same name.
    """

    def __init__(self, assigned: AssignedSplit, start: int, stop: int | None, strategy: WatermarkStrategy) -> None:
        self.key: Key = (assigned.split.topic, assigned.split.partition)
        self.name, self.number, self.stop = assigned.split.split_id, assigned.number, stop
        self._position, self.watermark = start, SplitWatermark(strategy)
        self.fetched: deque[FetchedRecords] = deque()
        self.kept, self.furthest = 0, assigned.split.starting_offset
        self.open = True
        self.paused = self.waits = False
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
        count = 0 if going is None else going.returned
        return int(going.messages[count - 1].offset()) + 1 if going and count else self._position

    @property
    def next_time(self) -> int | None:
        """Return the event time (ms) of the next record; None if it is not fetched."""
        return self.fetched[0].times[self.fetched[0].at] if self.fetched else None

    def take(self, records: FetchedRecords) -> FetchedRecords | None:
        """Keep the records whose offsets are between the position and `stop`, and return them."""
        messages, start, end = records.messages, 0, len(records.messages)
        if messages[0].offset() < self._position:
            start = bisect_left(messages, self._position, key=_offset)
        if self.stop is not None and messages[-1].offset() >= self.stop:
            self.end = max(self.end, self.stop)
            end = bisect_left(messages, self.stop, start, key=_offset)
        if start == end:
            return None
        if end - start < len(messages):
            records = FetchedRecords(messages[start:end], records.times[start:end])
        self.fetched.append(records)
        self.kept += end - start
        self._silent = self.quiet_since = None
        return records

    def next_piece(self, limit: int, most: int) -> Piece | None:
        """Return the next piece, of at most `most` records up to the read limit `limit` (ms)."""
        if not self.fetched or not self.open:
            return None
        records = self.fetched[0]
        end = records.admitted(limit, most)
        if end > records.at:
            return Piece(self, records, end)
        self.watermark.waits(records.messages[records.at], records.times[records.at])
        return None

    def account(self, count: int) -> None:
        """End the current piece, of which the first `count` records were returned."""
        piece, self.going = self.going, None
        if piece is None or not count:
            return
        records, at = piece.fetched, piece.fetched.at
        self._position = piece.messages[count - 1].offset() + 1
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

    def silence(self, now_ms: int) -> tuple[int, int] | None:
        """Return for how long (ms), and until which wall-clock time (ms), Kafka has confirmed that
        no record is left; None if records came, or if it last did so over `FRESH_MS` before the
        monotonic time `now_ms`.
        """
        silent = self._silent  # another thread may ask
        return (silent[1] - silent[0], silent[2]) if silent and now_ms - silent[1] <= FRESH_MS else None

    @property
    def finished(self) -> bool:
        return self.stop is not None and not self.fetched and max(self._position, self.end) >= self.stop

    def rest(self) -> KafkaPartitionSplit:
        return KafkaPartitionSplit(*self.key, self.position, NO_STOPPING_OFFSET if self.stop is None else self.stop)

    def held(self) -> ReaderSplit:
        following, rest = self.next_time, self.rest()
        return ReaderSplit(
            rest,
            self.number,
            self.watermark.value,
            self.watermark.idle,
            paused=self.waits,
            next_time=None if following == NO_TIMESTAMP else following,
            went_back=0 <= rest.starting_offset < self.furthest,
        )


class SplitWatermark:
    """The watermark of one split, which receives the output of its generator. `value` (ms) never
    falls, and is MIN at first. Other splits do not wait for an `idle` one.

    The generator gets each record once it has been returned, and the first record above the read
    limit while that waits, or the watermark would never cross a gap in event time. The watermark is
    then capped below this record. While Kafka confirms that the split was read to its end (`logs`),
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
