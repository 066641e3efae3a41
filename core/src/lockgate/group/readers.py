"""The readers of a group: an immutable map, with the few lowest numbers that alignment asks for.

Two things are wanted at once. A group is a value: a command makes a new group and leaves the old
one unchanged, so that a refused command or a lost race is undone by dropping the new group. And a
report into a group of 100,000 readers must not look at 100,000 readers.

Baker's trick gives both ("Shallow binding makes functional arrays fast", 1991). All versions share
one plain dict with its rankings, which holds the state of one version, mostly the newest. Each
other version knows the next version towards that one, and the few readers in which the two differ.
A new version changes the dict in place, and the version before it becomes a difference. To use an
older version (`updated`, or a lowest number) turns the differences round first. That costs as much
as the changes that it undoes.

Not for several threads at once: to read an old version may change the shared dict. Used by `group`,
and by every module above it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lockgate.group.reader import Reader, ReaderKey, watermark_of
from lockgate.lowest import Lowest
from lockgate.watermark import MAX

_MANY, _MOST = 8, 0.4
"""With more changes than both, this many and this part of all readers, ranking all anew is
cheaper.
"""

Moved = tuple[ReaderKey, Reader | None, Reader | None]
"""A reader that has changed: its key, the old value and the new one; None: there was, or is,
none.
"""


class Readers(Mapping[ReaderKey, Reader]):
    """An immutable map of readers. A method costs O(log n) at most, unless its docstring says
    more.
    """

    __slots__ = ("_differs", "_size", "_state", "_towards", "successor")

    successor: "tuple[object, Readers] | None"
    """A version that was made of this one at some cost, and why: not to be made twice."""

    def __init__(self) -> None:
        self._state: _State | None = _State()
        self._towards: Readers | None = None
        self._differs: Mapping[ReaderKey, Reader | None] = {}
        self._size = 0
        self.successor = None

    @classmethod
    def of(cls, readers: Mapping[ReaderKey, Reader]) -> "Readers":
        """Return these readers. O(n)."""
        return cls().updated(readers)

    def updated(self, changes: Mapping[ReaderKey, Reader | None]) -> "Readers":
        """Return a version in which these readers replace those of the same key; None removes one.
        O(changes).
        """
        state = self._reached()
        before = state.put(changes)
        newer = Readers.__new__(Readers)
        newer._state, newer._towards, newer._differs, newer._size = state, None, {}, len(state.readers)
        newer.successor = None
        self._state, self._towards, self._differs = None, newer, before
        return newer

    def changed_since(self, older: "Readers") -> set[ReaderKey]:
        """Return the keys of the readers that differ from those in `older`. O(changes) where this
        version was made from `older`.
        """
        return {key for key, _, _ in self.moved_since(older)}

    def moved_since(self, older: "Readers") -> list[Moved]:
        """Return the readers that differ from those in `older`. O(changes) where this version was
        made from `older`.
        """
        was, version = dict[ReaderKey, Reader | None](), older
        while version is not self and version._towards is not None:
            for key, reader in version._differs.items():
                was.setdefault(key, reader)
            version = version._towards
        if version is not self:
            was = {key: older.get(key) for key in {*self, *older}}
        now = self if self._state is None else self._state.readers
        return [(key, reader, now.get(key)) for key, reader in was.items() if now.get(key) is not reader]

    def has_source(self, source: str) -> bool:
        """Return whether there is a reader of this source."""
        return source in self._reached().subtasks

    def lowest_watermark(self, *, with_lost: bool) -> int:
        """Return the lowest watermark of the readers that count, MAX without any. `with_lost`: lost
        readers count too.
        """
        state = self._reached()
        lowest = _or_max(state.watermarks.lowest())
        return min(lowest, _or_max(state.lost.lowest())) if with_lost else lowest

    def lowest_reach(self, *, with_lost: bool) -> int:
        """Return the lowest max(watermark, reach) of the readers that count. A lost reader has no
        reach.
        """
        state = self._reached()
        lowest = _or_max(state.reaches.lowest())
        return min(lowest, _or_max(state.lost.lowest())) if with_lost else lowest

    def at_watermark(self, watermark: int, limit: int, *, with_lost: bool) -> tuple[ReaderKey, ...]:
        """Return the first readers, by key, that count and are at the lowest watermark, if that is
        `watermark`.
        """
        state = self._reached()
        rankings = [state.watermarks, state.lost] if with_lost else [state.watermarks]
        found = [key for ranking in rankings if ranking.lowest() == watermark for key in ranking.first(limit)]
        return tuple(sorted(found)[:limit])

    def up_to(self, watermark: int, *, with_lost: bool) -> list[ReaderKey]:
        """Return the readers that count and are at or below this watermark. O(found)."""
        state = self._reached()
        found = state.watermarks.up_to(watermark)
        return found + state.lost.up_to(watermark) if with_lost else found

    def lost_below(self, watermark: int) -> list[ReaderKey]:
        """Return the lost readers below this watermark. O(found)."""
        return self._reached().lost.up_to(watermark - 1)

    def first_heard(self) -> int | None:
        """Return the earliest `heard_at` of the readers with a running lease, parked ones
        left out.
        """
        return self._reached().heard.lowest()

    def heard_until(self, time: int) -> list[ReaderKey]:
        """Return the readers with a running lease that have not reported after `time`, parked ones
        left out. O(found).
        """
        return self._reached().heard.up_to(time)

    def first_parked(self) -> int | None:
        """Return the earliest end of parking; None: no reader is parked."""
        return self._reached().parked.lowest()

    def parked_until(self, time: int) -> list[ReaderKey]:
        """Return the readers whose parking ends at `time` or before. O(found)."""
        return self._reached().parked.up_to(time)

    def first_held(self) -> int | None:
        """Return the start of the longest wait, overdue ones left out; None: no reader waits."""
        return self._reached().held.lowest()

    def held_until(self, time: int) -> list[ReaderKey]:
        """Return the readers that have waited since `time` or longer and are not overdue.
        O(found).
        """
        return self._reached().held.up_to(time)

    def sources(self) -> list[str]:
        """Return the names of all sources that have a reader, in order."""
        return sorted(self._reached().subtasks)

    def __getitem__(self, key: ReaderKey) -> Reader:
        version = self
        while version._towards is not None:
            if key in version._differs:
                reader = version._differs[key]
                if reader is None:
                    raise KeyError(key)
                return reader
            version = version._towards
        return version._reached().readers[key]

    # Mapping's own `get` takes three times as long.
    def get(self, key: ReaderKey, default: Any = None) -> Any:
        if self._state is not None:
            return self._state.readers.get(key, default)
        return super().get(key, default)

    def __iter__(self) -> Iterator[ReaderKey]:
        return iter(self._reached().readers)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"Readers({self._size})"

    def _reached(self) -> "_State":
        """Return the shared state, turned to this version."""
        if self._state is not None:
            return self._state
        path: list[Readers] = [self]
        while path[-1]._towards is not None:
            path.append(path[-1]._towards)
        state = path.pop()._state
        assert state is not None
        for version in reversed(path):
            newer = version._towards
            assert newer is not None
            newer._differs = state.put(version._differs)
            newer._state, newer._towards = None, version
            version._state, version._towards, version._differs = state, None, {}
        return state


class _State:
    """The readers of one version and their ranked values."""

    __slots__ = ("heard", "held", "lost", "parked", "rankings", "reaches", "readers", "subtasks", "watermarks")

    def __init__(self) -> None:
        self.readers: dict[ReaderKey, Reader] = {}
        self.subtasks: dict[str, int] = {}
        self.rankings = [Lowest[ReaderKey]() for _ in _UNRANKED]
        self.heard, self.parked, self.held, self.watermarks, self.reaches, self.lost = (
            self.rankings
        )  # as `_numbers` has them

    def put(self, changes: Mapping[ReaderKey, Reader | None]) -> dict[ReaderKey, Reader | None]:
        """Put these readers in. Returns the ones that they replace. O(changes); the rankings do the
        rest when they are asked.
        """
        if len(changes) <= max(_MANY, _MOST * len(self.readers)):
            return {key: self._set(key, reader) for key, reader in changes.items()}
        before = {key: self.readers.get(key) for key in changes}
        for key, reader in changes.items():
            if reader is None:
                self.readers.pop(key, None)
            else:
                self.readers[key] = reader
        self._rank_all()
        return before

    def _set(self, key: ReaderKey, reader: Reader | None) -> Reader | None:
        before = self.readers.get(key)
        if reader is None:
            self.readers.pop(key, None)
        else:
            self.readers[key] = reader
        if (before is None) != (reader is None):
            self._count(key[0], 1 if before is None else -1)
        for ranking, number in zip(self.rankings, _UNRANKED if reader is None else _numbers(reader), strict=True):
            if number is None:
                ranking.discard(key)
            else:
                ranking.set(key, number)
        return before

    def _rank_all(self) -> None:
        """Written out, since a loop over the columns of each reader takes twice as long."""
        heard, parked, held, watermarks, reaches, lost = columns = [dict[ReaderKey, int]() for _ in self.rankings]
        for key, reader in self.readers.items():
            its_heard, its_parked, its_held, its_watermark, its_reach, its_lost = _numbers(reader)
            if its_heard is not None:
                heard[key] = its_heard
            if its_parked is not None:
                parked[key] = its_parked
            if its_held is not None:
                held[key] = its_held
            if its_watermark is not None:
                watermarks[key] = its_watermark
            if its_reach is not None:
                reaches[key] = its_reach
            if its_lost is not None:
                lost[key] = its_lost
        for ranking, column in zip(self.rankings, columns, strict=True):
            ranking.fill(column)
        self.subtasks = dict(Counter(source for source, _ in self.readers))

    def _count(self, source: str, more: int) -> None:
        subtasks = self.subtasks.get(source, 0) + more
        if subtasks:
            self.subtasks[source] = subtasks
        else:
            del self.subtasks[source]


_Numbers = tuple[int | None, int | None, int | None, int | None, int | None, int | None]
_UNRANKED: _Numbers = (None, None, None, None, None, None)


def _numbers(reader: Reader) -> _Numbers:
    """Return a reader's ranked values: last heard, parked until, held since, watermark, reach, and
    the watermark if it is lost.

    None: the reader has no place in that ranking. A reader at MAX holds no other one, so it has
    none.
    """
    reported, arriving = reader.reported, reader.arriving
    if reported is None and arriving is None:
        return _UNRANKED
    watermark = MAX if reader.passed_over else watermark_of(reader)
    ranked = None if watermark == MAX else watermark
    if reader.lost:
        return (None, None, None, None, None, ranked)
    reach = watermark
    if reported is not None and reported.reach is not None:
        reach = max(watermark, reported.reach if arriving is None else min(reported.reach, arriving.watermark))
    heard: int | None = reader.heard_at
    parked = None
    if reported is not None and reported.finished:
        heard = None
    elif reported is not None and reported.park_ms is not None:
        heard, parked = None, reader.heard_at + reported.park_ms
    held = None if reader.overdue else reader.held_since
    return (heard, parked, held, ranked, None if reach == MAX else reach, None)


def _or_max(lowest: int | None) -> int:
    return MAX if lowest is None else lowest
