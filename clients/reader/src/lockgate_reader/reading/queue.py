"""Which split's records go out next, and which are kept back. Pure: no clock, no Kafka.

A split is *ready* while nobody has looked at its first record. A look either admits records up to
the ceiling, or finds the first one above it: the split is then *kept back*, until the ceiling
reaches that record. Ready splits take turns, so that none fetched far ahead of the others.
"""

import heapq
from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from lockgate_reader.reading.fetched import FetchedRecords
from lockgate_reader.reading.split import OpenSplit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Piece:
    """Records that may go out: those of `records` up to the index `end`."""

    split: OpenSplit
    records: FetchedRecords
    end: int

    @property
    def count(self) -> int:
        """How many records it has."""
        return self.end - self.records.at

    @property
    def messages(self) -> list[Any]:
        """The records."""
        return self._of(self.records.messages)

    @property
    def times(self) -> list[int]:
        """Their event times."""
        return self._of(self.records.times)

    def _of(self, column: list[T]) -> list[T]:
        whole = self.records.at == 0 and self.end == len(column)
        return column if whole else column[self.records.at : self.end]


class SplitQueue:
    """The splits that have records."""

    def __init__(self) -> None:
        self._ready: deque[OpenSplit] = deque()
        self._kept_back: list[tuple[int, int, OpenSplit]] = []
        self._order = count()

    def add(self, split: OpenSplit) -> None:
        """Queue a split that has records. One that is kept back stays so."""
        if split.fetched and not split.queued and split.next_time is None and not split.halted:
            split.queued = True
            self._ready.append(split)

    def remove(self, split: OpenSplit) -> None:
        """Take a split out of the queue."""
        if split.queued:
            self._ready.remove(split)
            split.queued = False
        split.next_time = None

    def next_piece(self, ceiling: int, most: int) -> Piece | OpenSplit | None:
        """Return the next records to go out, at most `most`; or a split that is now kept back; or
        None if no split is ready.
        """
        while self._ready:
            split = self._ready[0]
            if not split.fetched or split.halted:
                self._ready.popleft()
                split.queued = False
                continue
            records = split.fetched[0]
            end = records.admitted(ceiling, most)
            if end > records.at:
                self._ready.rotate(-1)
                return Piece(split, records, end)
            self._ready.popleft()
            split.queued = False
            split.next_time = records.times[records.at]
            heapq.heappush(self._kept_back, (split.next_time, next(self._order), split))
            return split
        return None

    def release(self, ceiling: int) -> bool:
        """Make splits ready whose next record the ceiling has reached, and return whether there are
        any.
        """
        found = False
        while self._kept_back and (self._kept_back[0][0] <= ceiling or self._is_gone(self._kept_back[0])):
            entry = heapq.heappop(self._kept_back)
            if not self._is_gone(entry):
                entry[2].next_time = None
                self.add(entry[2])
                found = True
        return found

    @property
    def lowest_kept_back(self) -> int | None:
        """The lowest event time that the ceiling keeps back."""
        while self._kept_back and self._is_gone(self._kept_back[0]):
            heapq.heappop(self._kept_back)
        return self._kept_back[0][0] if self._kept_back else None

    def _is_gone(self, entry: tuple[int, int, OpenSplit]) -> bool:
        return entry[2].next_time != entry[0]
