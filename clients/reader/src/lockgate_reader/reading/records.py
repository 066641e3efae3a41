"""Fetched records of one partition, and the pieces in which they are passed to the program.

Records are returned in the order of their offsets, so the first one whose event time is above the
read limit holds back all that follow. An event time below 0, or more than `FUTURE_BOUND_MS` ahead
of the wall clock, is ignored: it is stored as `NO_TIMESTAMP`, which is below every limit.

The program gets the records of a piece from an iterator that consists of C functions, so no Python
code runs for each record unless a lease runs, whose end is checked before each record. Each record
consumes one element of an `itertools.repeat`, whose remaining length gives the number of records
returned. The iterator has its own list, and ends once any thread empties this list.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import compress, repeat
from math import inf
from operator import length_hint
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP

FUTURE_BOUND_MS = 86_400_000
# How many records are fetched at once, and the largest size of a piece. With more, each fetch would
# start Python's garbage collector, which runs after 700 new objects.
CHUNK = 650
PIECE_MS = 100


class FetchedRecords:
    """Records of one fetch, and their event times in ms, which `ordered` has in ascending order.
    The first `at` records were returned. `left_out` counts the times below 0 or after `latest`.
    """

    __slots__ = ("_rises", "at", "highest", "left_out", "messages", "times")

    def __init__(self, messages: list[Any], times: list[int], ordered: list[int], latest: float = inf) -> None:
        self.at = self.left_out = 0
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
    """Records that are returned together: `fetched`, from its `at` up to the index `end`."""

    __slots__ = ("_messages", "_start", "_ticks", "end", "fetched", "key")

    def __init__(self, key: tuple[str, int], fetched: FetchedRecords, end: int) -> None:
        self.key, self.fetched, self.end, self._start = key, fetched, end, fetched.at
        self._messages = list[Any]()
        self._ticks = repeat(True, 0)

    def begin(self, until: float, now_s: Callable[[], float]) -> Iterator[Any]:
        """Return an iterator over the messages. It ends when the time `now_s()` reaches `until`."""
        self._messages = self.fetched.messages[self._start : self.end]
        self._ticks = repeat(True, self.end - self._start)
        messages = iter(self._messages)
        return compress(messages if until == inf else _before(until, now_s, messages), self._ticks)

    @property
    def messages(self) -> list[Any]:
        return self.fetched.messages[self._start : self.end]

    @property
    def times(self) -> list[int]:
        return self.fetched.times[self._start : self.end]

    @property
    def returned(self) -> int:
        """Return how many records were returned; all of them if `begin` was not called."""
        return self.end - self._start - length_hint(self._ticks)

    @property
    def position(self) -> int | None:
        count = self.returned
        return int(self.fetched.messages[self._start + count - 1].offset()) + 1 if count else None

    def call_back(self) -> None:
        """Prevent the rest of the piece from being returned. Any thread may call this."""
        self._messages.clear()


def _before(until: float, now_s: Callable[[], float], messages: Iterator[Any]) -> Iterator[Any]:
    for message in messages:
        if now_s() >= until:
            return
        yield message


class PieceSize:
    """Sets `most`, the size of the next piece, to what the program processes in `PIECE_MS`."""

    def __init__(self) -> None:
        self.most = 1

    def took(self, count: int, took_ms: int) -> None:
        if took_ms <= PIECE_MS // 2:
            self.most = min(CHUNK, max(self.most, count * 2))
        elif took_ms > PIECE_MS:
            self.most = max(1, min(CHUNK, count * PIECE_MS // took_ms))
