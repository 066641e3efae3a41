"""The readers of a group: a map that never changes, with the few least numbers that alignment asks
for.

Two things are wanted at once. A group is a value: a command makes a new one and leaves the old one
as it was, so that a refused command or a lost race is undone by forgetting it. And a report into a
group of 100,000 readers must not look at 100,000 readers.

Both come from Baker's trick ("Shallow binding makes functional arrays fast", 1991). All versions
share one plain dict, with the rankings beside it, which stands at one of them, mostly the newest.
Each other version knows the next one on the way there, and the few readers in which it differs. A
new version is made in place, and the one before it becomes a difference. Going back to an older
version and on from there (`updated` on it, or asking it for a least number) first turns the
differences round, which costs as much as what was undone.

Not for several threads at once: reading an old version may move the shared dict. Used by `group`
and all that stands on it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lockgate.lowest import Lowest
from lockgate.watermark import MAX
from lockgate.wire.events import ReportedWatermarkEvent

_MANY, _MOST = 8, 0.4
"""From how many changes on, and from which part of all readers, it is cheaper to rank all of them
anew.
"""

ReaderKey = tuple[str, int]
"""A reader's source and subtask."""

Attempt = tuple[int, int]
"""Batch and attempt, which order what tasks say about one split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One reader. `reported` is what counts of it: the last report, of this epoch or of the one
    before; None: it does not count.

    The lease runs from `heard_at`; `excused` says that an outage has been added to it since the
    reader was last heard, `lost` that it has been found at its end (`leases`). `progressed_at` is
    when it last got on, and not only spoke. `held_since` is since when the ceiling holds it, as its
    own reports tell; `overdue` says that this has been too long, and `passed_over` that it was
    itself the one for whom others waited too long (`holds`). All times are the store's, in ms.
    """

    epoch: int
    heard_at: int
    owner: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    reported: ReportedWatermarkEvent | None = None
    excused: bool = False
    lost: bool = False
    progressed_at: int | None = None
    held_since: int | None = None
    overdue: bool = False
    passed_over: bool = False
    splits_named: bool = False
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    progress_ignored: int = 0

    def after_time(
        self,
        *,
        heard_at: int,
        excused: bool,
        lost: bool,
        reported: ReportedWatermarkEvent | None,
        progressed_at: int | None,
        held_since: int | None,
        overdue: bool,
    ) -> "Reader":
        """The reader with all that time may change of it. The constructor costs a quarter of
        `replace`: it may be all readers at once.
        """
        return Reader(
            epoch=self.epoch,
            heard_at=heard_at,
            owner=self.owner,
            attributes=self.attributes,
            reported=reported,
            excused=excused,
            lost=lost,
            progressed_at=progressed_at,
            held_since=held_since,
            overdue=overdue,
            passed_over=self.passed_over,
            splits_named=self.splits_named,
            attempts=self.attempts,
            progress_ignored=self.progress_ignored,
        )


Moved = tuple[ReaderKey, Reader | None, Reader | None]
"""A reader that is another one now: its key, as it was and as it is; None: it was not there, or is
there no more.
"""


def effective_watermark(reported: ReportedWatermarkEvent) -> int:
    """What a report means to the group: MAX of an idle or finished reader, else its watermark."""
    return MAX if reported.idle or reported.finished else reported.watermark


class Readers(Mapping[ReaderKey, Reader]):
    """An immutable map of readers. All the methods cost O(log n) at most, unless they say something
    else.
    """

    __slots__ = ("_differs", "_size", "_state", "_towards")

    def __init__(self) -> None:
        self._state: _State | None = _State()
        self._towards: Readers | None = None
        self._differs: Mapping[ReaderKey, Reader | None] = {}
        self._size = 0

    @classmethod
    def of(cls, readers: Mapping[ReaderKey, Reader]) -> "Readers":
        """These readers. O(n)."""
        return cls().updated(readers)

    def updated(self, changes: Mapping[ReaderKey, Reader | None]) -> "Readers":
        """A version with these readers in the place of those of the same key; None takes one away.
        O(changes).
        """
        state = self._reached()
        before = state.put(changes)
        newer = Readers.__new__(Readers)
        newer._state, newer._towards, newer._differs, newer._size = state, None, {}, len(state.readers)
        self._state, self._towards, self._differs = None, newer, before
        return newer

    def changed_since(self, older: "Readers") -> set[ReaderKey]:
        """The keys whose reader is another one, or none, than in `older`. O(changes) for a version
        that this one was made from.
        """
        return {key for key, _, _ in self.moved_since(older)}

    def moved_since(self, older: "Readers") -> list[Moved]:
        """The readers that are others than in `older`. O(changes) for a version that this one was
        made from.
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
        """Whether there is a reader of this source."""
        return source in self._reached().subtasks

    def lowest_watermark(self, *, with_lost: bool) -> int:
        """Of all that count; MAX if there is none. `with_lost`: lost readers count as well."""
        state = self._reached()
        lowest = _or_max(state.watermarks.lowest())
        return min(lowest, _or_max(state.lost.lowest())) if with_lost else lowest

    def lowest_reach(self, *, with_lost: bool) -> int:
        """The least of max(watermark, reach) of all that count, where a lost one reaches no further
        than its watermark.
        """
        state = self._reached()
        lowest = _or_max(state.reaches.lowest())
        return min(lowest, _or_max(state.lost.lowest())) if with_lost else lowest

    def at_watermark(self, watermark: int, limit: int, *, with_lost: bool) -> tuple[ReaderKey, ...]:
        """The first readers, by key, of those that count and stand at the lowest watermark, if that
        is `watermark`.
        """
        state = self._reached()
        rankings = [state.watermarks, state.lost] if with_lost else [state.watermarks]
        found = [key for ranking in rankings if ranking.lowest() == watermark for key in ranking.first(limit)]
        return tuple(sorted(found)[:limit])

    def up_to(self, watermark: int, *, with_lost: bool) -> list[ReaderKey]:
        """All that count and whose watermark is at or below this one. O(found)."""
        state = self._reached()
        found = state.watermarks.up_to(watermark)
        return found + state.lost.up_to(watermark) if with_lost else found

    def first_heard(self) -> int | None:
        """When the one was last heard who has a lease that runs, is not parked, and is silent for
        longest.
        """
        return self._reached().heard.lowest()

    def heard_until(self, time: int) -> list[ReaderKey]:
        """Those whose lease runs, who are not parked, and who were not heard after this time.
        O(found).
        """
        return self._reached().heard.up_to(time)

    def first_parked(self) -> int | None:
        """Until when the first of those that are parked is."""
        return self._reached().parked.lowest()

    def parked_until(self, time: int) -> list[ReaderKey]:
        """Those that are parked until this time at most. O(found)."""
        return self._reached().parked.up_to(time)

    def first_held(self) -> int | None:
        """Since when the ceiling holds the one that it holds for longest, those that are overdue
        already left out.
        """
        return self._reached().held.lowest()

    def held_until(self, time: int) -> list[ReaderKey]:
        """Those that are held since this time or longer and are not overdue yet. O(found)."""
        return self._reached().held.up_to(time)

    def sources(self) -> list[str]:
        """The names of all sources that have a reader, in order."""
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

    # the one of Mapping takes three times as long
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
        """The shared state, standing at this version."""
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
    """The readers of one version, and the numbers of those whom they matter of."""

    __slots__ = ("heard", "held", "lost", "parked", "rankings", "reaches", "readers", "subtasks", "watermarks")

    def __init__(self) -> None:
        self.readers: dict[ReaderKey, Reader] = {}
        self.subtasks: dict[str, int] = {}
        self.rankings = [Lowest[ReaderKey]() for _ in _UNRANKED]
        self.heard, self.parked, self.held, self.watermarks, self.reaches, self.lost = (
            self.rankings
        )  # as `_numbers` has them

    def put(self, changes: Mapping[ReaderKey, Reader | None]) -> dict[ReaderKey, Reader | None]:
        """Put readers in the place of others, or of none. The others. O(changes), but for asking
        afterwards.
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
        """Written out: a loop over the columns of each reader would take twice as long."""
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
    """Since when it was not heard, until when it is parked, since when it is held, watermark,
    reach, and its watermark if it is lost.

    None: it matters to nobody. So it is with MAX: who stands there holds nobody.
    """
    reported = reader.reported
    if reported is None:
        return _UNRANKED
    watermark = MAX if reader.passed_over else effective_watermark(reported)
    standing = None if watermark == MAX else watermark
    if reader.lost:
        return (None, None, None, None, None, standing)
    reach = watermark if reported.reach is None else max(watermark, reported.reach)
    heard = parked = None
    if not reported.finished:
        heard, parked = (
            (reader.heard_at, None) if reported.park_ms is None else (None, reader.heard_at + reported.park_ms)
        )
    held = None if reader.overdue else reader.held_since
    return (heard, parked, held, standing, None if reach == MAX else reach, None)


def _or_max(lowest: int | None) -> int:
    return MAX if lowest is None else lowest
