"""The readers of a group: an immutable map that also keeps the lowest numbers that alignment needs.

A command makes a new group and leaves the old one as it was. So a refused command or a lost race is
undone by dropping the new group. The readers are spread over `_SHELVES` shelves by their key. A
change copies the shelves that it touches, and shares all others with the previous version. Each
shelf computes its lowest numbers once, and the group's are the lowest of those. So a report in a
group of 10,000 readers copies some 160 of them and takes 0.1 ms. Neighbouring subtasks share a
shelf, so that a batch of reports, which names them in order, copies few shelves in each of its
turns.

A shelf never changes, so shelves of two versions can be compared by identity: `moved_since` only
compares the readers of shelves that are different objects.
"""

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from functools import cached_property
from heapq import nsmallest
from operator import itemgetter
from typing import Any
from zlib import crc32

from lockgate.group.reader import Reader, ReaderKey, watermark_of
from lockgate.watermark import MAX

_SHELVES = 64
_NEIGHBOURS = 64
"""The number of neighbouring subtasks of a source that share a shelf."""

Moved = tuple[ReaderKey, Reader | None, Reader | None]
"""The key of a reader that has changed, the old value or None, and the new value or None."""

_Numbers = tuple[int, int, int, int, int, int]
_NONE: _Numbers = (MAX, MAX, MAX, MAX, MAX, MAX)


class Ranking(IntEnum):
    """The numbers by which readers are ranked. MAX means that a reader is not in the ranking."""

    HEARD = 0  # when it was last heard, if its lease runs and it is not parked
    PARKED = 1  # when its parking ends
    HELD = 2  # since when it has waited, unless it is overdue
    WATERMARK = 3  # of a reader that counts and is not lost
    REACH = 4  # max(watermark, reach) of such a reader
    LOST = 5  # the watermark of a lost reader


class Readers(Mapping[ReaderKey, Reader]):
    """An immutable map of readers. `lockgate.group.alignment` says which readers *count*."""

    __slots__ = ("_lowest", "_shelves", "_size")

    def __init__(self) -> None:
        self._shelves: dict[int, _Shelf] = {}
        self._size = 0
        self._lowest: _Numbers = _NONE

    @classmethod
    def of(cls, readers: Mapping[ReaderKey, Reader]) -> "Readers":
        return cls().updated(readers)

    def updated(self, changes: Mapping[ReaderKey, Reader | None]) -> "Readers":
        """Return a new version with `changes` applied. A value of None removes the reader."""
        touched = dict[int, dict[ReaderKey, Reader | None]]()
        for key, reader in changes.items():
            touched.setdefault(_shelf_of(key), {})[key] = reader
        newer = Readers()
        newer._shelves, newer._size = dict(self._shelves), self._size
        for number, some in touched.items():
            before = newer._shelves.get(number, _EMPTY)
            after = newer._shelves[number] = before.updated(some)
            newer._size += len(after.readers) - len(before.readers)
        newer._lowest = _lowest([shelf.lowest for shelf in newer._shelves.values()])
        return newer

    def moved_since(self, older: "Readers") -> list[Moved]:
        """Return the readers that differ from those in `older`, in the order of their keys."""
        moved = list[Moved]()
        for number in self._shelves.keys() | older._shelves.keys():
            after, before = self._shelves.get(number, _EMPTY), older._shelves.get(number, _EMPTY)
            if after is not before:
                moved += _moved(before.readers, after.readers)
        return sorted(moved, key=itemgetter(0)) if len(moved) > 1 else moved

    def has_source(self, source: str) -> bool:
        """Return whether there is a reader of this source."""
        return any(source in shelf.sources for shelf in self._shelves.values())

    def sources(self) -> list[str]:
        """Return the names of all sources that have a reader, in order."""
        return sorted(frozenset[str]().union(*(shelf.sources for shelf in self._shelves.values())))

    def lowest_watermark(self, *, with_lost: bool) -> int:
        """Return the lowest watermark of the readers that count, or MAX if none does. `with_lost`
        decides whether lost readers count.
        """
        lowest = self._lowest[Ranking.WATERMARK]
        return min(lowest, self._lowest[Ranking.LOST]) if with_lost else lowest

    def lowest_reach(self, *, with_lost: bool) -> int:
        """Return the lowest max(watermark, reach) of the readers that count, or MAX if none does.

        If `with_lost` is true, lost readers count with their watermarks alone.
        """
        lowest = self._lowest[Ranking.REACH]
        return min(lowest, self._lowest[Ranking.LOST]) if with_lost else lowest

    def at_watermark(self, watermark: int, limit: int, *, with_lost: bool) -> tuple[ReaderKey, ...]:
        """Return the first `limit` readers, by key, that count and are at `watermark`.

        The result is empty if `watermark` is MAX, or is not the lowest one of the group.
        """
        if watermark == MAX or watermark != self.lowest_watermark(with_lost=with_lost):
            return ()
        return tuple(nsmallest(limit, [key for _, key in self._standing(watermark, with_lost=with_lost)]))

    def up_to(self, watermark: int, *, with_lost: bool) -> list[ReaderKey]:
        """Return the readers that count and are at or below `watermark`, lowest first."""
        return [key for _, key in sorted(self._standing(watermark, with_lost=with_lost))]

    def first(self, ranking: Ranking) -> int | None:
        """Return the lowest number of a ranking, or None if no reader is ranked."""
        lowest = self._lowest[ranking]
        return None if lowest == MAX else lowest

    def until(self, ranking: Ranking, most: int) -> list[ReaderKey]:
        """Return the readers whose number in a ranking is at most `most`, lowest first."""
        return [key for _, key in sorted(self._numbered(ranking, most))]

    def __getitem__(self, key: ReaderKey) -> Reader:
        return self._shelves.get(_shelf_of(key), _EMPTY).readers[key]

    # Mapping's own `get` takes three times as long.
    def get(self, key: ReaderKey, default: Any = None) -> Any:
        return self._shelves.get(_shelf_of(key), _EMPTY).readers.get(key, default)

    def __iter__(self) -> Iterator[ReaderKey]:
        for shelf in self._shelves.values():
            yield from shelf.readers

    def __len__(self) -> int:
        return self._size

    def _standing(self, watermark: int, *, with_lost: bool) -> list[tuple[int, ReaderKey]]:
        standing = self._numbered(Ranking.WATERMARK, watermark)
        return standing + self._numbered(Ranking.LOST, watermark) if with_lost else standing

    def _numbered(self, ranking: Ranking, most: int) -> list[tuple[int, ReaderKey]]:
        """Return each number of a ranking that is at most `most`, with the key of its reader."""
        column = int(ranking)  # a tuple takes twice as long to look up a member of an Enum
        return [
            (numbers[column], key)
            for shelf in self._shelves.values()
            if shelf.lowest[column] <= most
            for key, numbers in shelf.numbers.items()
            if numbers[column] <= most and numbers[column] != MAX
        ]


class _Shelf:
    """Hold a subset of the group's readers with their sort keys.

    `numbers` maps each reader's key to its number in each `Ranking`. `lowest` has the lowest number
    of the shelf's readers in each ranking.
    """

    def __init__(self, readers: dict[ReaderKey, Reader], numbers: dict[ReaderKey, _Numbers]) -> None:
        self.readers, self.numbers = readers, numbers
        self.lowest = _lowest(numbers.values())

    def updated(self, changes: Mapping[ReaderKey, Reader | None]) -> "_Shelf":
        readers, numbers = dict(self.readers), dict(self.numbers)
        for key, reader in changes.items():
            if reader is None:
                readers.pop(key, None)
                numbers.pop(key, None)
            else:
                readers[key], numbers[key] = reader, _numbers(reader)
        return _Shelf(readers, numbers)

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(source for source, _ in self.readers)


def _shelf_of(key: ReaderKey) -> int:
    """Return the number of the reader's shelf, which is the same in every process."""
    return (crc32(key[0].encode()) + key[1] // _NEIGHBOURS) % _SHELVES


def _moved(before: Mapping[ReaderKey, Reader], after: Mapping[ReaderKey, Reader]) -> list[Moved]:
    found: list[Moved] = [(key, was, now) for key, now in after.items() if (was := before.get(key)) is not now]
    if len(before) > len(after) - sum(was is None for _, was, _ in found):
        found += [(key, before[key], None) for key in before.keys() - after.keys()]
    return found


def _lowest(of: Collection[_Numbers]) -> _Numbers:
    if len(of) <= 1:
        return next(iter(of), _NONE)
    heard, parked, held, watermark, reach, lost = map(min, zip(*of, strict=True))
    return heard, parked, held, watermark, reach, lost


def _numbers(reader: Reader) -> _Numbers:
    reported, arriving = reader.reported, reader.arriving
    if reported is None and arriving is None:
        return _NONE
    watermark = MAX if reader.passed_over else watermark_of(reader)
    if reader.lost:
        return MAX, MAX, MAX, MAX, MAX, watermark
    reach = watermark
    if reported is not None and reported.reach is not None:
        reach = max(watermark, reported.reach if arriving is None else min(reported.reach, arriving.watermark))
    heard, parked = reader.heard_at, MAX
    if reported is not None and reported.finished:
        heard = MAX
    elif reported is not None and reported.park_ms is not None:
        heard, parked = MAX, reader.heard_at + reported.park_ms
    held = MAX if reader.overdue or reader.held_since is None else reader.held_since
    return heard, parked, held, watermark, reach, MAX


_EMPTY = _Shelf({}, {})
