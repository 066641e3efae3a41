"""Groups in this process's memory, for a single coordinator. After a restart of the coordinator the
readers register again, which restores the groups.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from lockgate.enumerator.model import Enumerator
from lockgate.errors import UnknownGroup
from lockgate.group.group import Group
from lockgate_coordinator.store.base import (
    JOURNAL_KEPT,
    SAMPLE_LEVELS,
    JournalSpan,
    Loaded,
    LoadedSplits,
    NotDiscarded,
    finest,
)


def steady_clock() -> Callable[[], int]:
    """Return a function that returns the time (ms since 1970) and follows the monotonic clock."""
    began_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (began_ns + time.monotonic_ns()) // 1_000_000


REMEMBERED_MS = 3_600_000
"""How long the last version of a deleted group is remembered."""


class MemoryStore:
    """A store in this process's memory. `clock` returns the store's time in ms, and never jumps.
    The default is `steady_clock`.
    """

    shared = False

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self._clock = clock or steady_clock()
        self._versions: dict[str, int] = {}
        self._groups: dict[str, Group] = {}
        self._journals: dict[str, deque[tuple[tuple[int, int], str]]] = {}
        self._splits: dict[str, tuple[int, Mapping[str, Enumerator]]] = {}
        self._samples: dict[str, list[deque[tuple[int, str]]]] = {}
        self._gone: dict[str, tuple[int, str]] = {}  # deleted groups: when, in that order, and by which act

    def cached(self, name: str) -> Loaded:
        return Loaded(name, self._versions.get(name, 0), self._clock(), self._groups.get(name))

    async def load(self, name: str) -> Loaded:
        return self.cached(name)

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        if self._versions.get(loaded.name, 0) != loaded.version:
            return self.cached(loaded.name)
        self._versions[loaded.name] = loaded.next_version
        self._groups[loaded.name] = group
        return None

    def _forget_old_names(self) -> None:
        """Remove the versions of groups that were deleted at least `REMEMBERED_MS` ago. A version
        is a time (ms) that may be ahead of the clock, so it must be that old itself. Each call
        checks ten groups at most.
        """
        until = self._clock() - REMEMBERED_MS
        for name, (deleted_at, _) in list(islice(self._gone.items(), 10)):
            if deleted_at > until:
                return
            del self._gone[name]
            if name not in self._groups and self._versions[name] <= until:
                del self._versions[name]

    async def discard(self, name: str, act: str = "", only: Loaded | None = None) -> int | NotDiscarded:
        loaded = self.cached(name)
        if only is not None and only.version != loaded.version:
            return NotDiscarded.CHANGED
        if act and self._gone.get(name, (0, ""))[1] == act:
            return NotDiscarded.DONE_BEFORE
        if loaded.group is None:
            return NotDiscarded.NO_GROUP
        self._versions[name] = max(loaded.next_version, loaded.group.high_water)
        for kept in (self._groups, self._journals, self._samples, self._splits, self._gone):
            kept.pop(name, None)
        self._gone[name] = (self._clock(), act)
        self._forget_old_names()
        return len(loaded.group.readers)

    async def load_splits(self, name: str) -> LoadedSplits:
        version, sources = self._splits.get(name, (0, {}))
        return LoadedSplits(name, version, self._clock(), sources)

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        if loaded.name not in self._groups:
            raise UnknownGroup(loaded.name)
        if self._splits.get(loaded.name, (0, {}))[0] != loaded.version:
            return False
        self._splits[loaded.name] = (loaded.next_version, dict(sources))
        return True

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        if name not in self._groups:
            return
        journal = self._journals.setdefault(name, deque(maxlen=JOURNAL_KEPT))
        for entry in entries:
            last_ms, number = journal[-1][0] if journal else (0, 0)
            now_ms = max(self._clock(), last_ms)
            journal.append(((now_ms, number + 1 if now_ms == last_ms else 0), entry))

    async def read_journal(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        journal = self._journals.get(name, ())
        after, before = _place(span.after), _place(span.before)
        inside = (
            ("{}-{}".format(*place), entry)
            for place, entry in (reversed(journal) if span.newest_first else journal)
            if (after is None or place > after) and (before is None or place < before)
        )
        return list(islice(inside, limit))

    async def append_sample(self, name: str, text: str) -> None:
        if name not in self._groups:
            return
        levels = self._samples.setdefault(name, [deque(maxlen=most) for _, most in SAMPLE_LEVELS])
        now_ms = self._clock()
        for (step_ms, _), level in zip(SAMPLE_LEVELS, levels, strict=True):
            if not level or now_ms - level[-1][0] >= step_ms:
                level.append((now_ms, text))

    async def read_samples(self, name: str) -> list[tuple[int, str]]:
        return finest(self._samples.get(name, ()))

    async def names(self, after: str, limit: int) -> list[str]:
        return sorted(name for name in self._groups if name > after)[:limit]

    async def count(self) -> int:
        return len(self._groups)

    async def ping(self) -> None:
        return None

    async def dangers(self) -> list[str] | None:
        return []

    async def close(self) -> None:
        return None


def _place(id: str) -> tuple[int, int] | None:
    """Return the two numbers of a journal entry's id, or None for an empty id."""
    if not id:
        return None
    now_ms, _, number = id.partition("-")
    return int(now_ms), int(number or 0)
