"""A store that measures how long each step takes, and which steps fail. Its callers use it like the
store itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate_coordinator.store.base import JournalSpan, Loaded, LoadedSplits, NotDiscarded, Store, StoreUnavailable
from lockgate_coordinator.telemetry.histogram import Histogram

STEPS = (
    "load",
    "commit",
    "load_splits",
    "commit_splits",
    "delete",
    "discard",
    "read_journal",
    "read_samples",
    "names",
    "count",
    "ping",
)


class ObservedStore:
    """`durations` are those of the answered steps, `errors` count the others. `conflicts` are
    commits refused because another came first.
    """

    def __init__(self, store: Store, clock_s: Callable[[], float] = perf_counter) -> None:
        self.shared = store.shared
        self.cached = store.cached  # from memory: nothing to measure
        self.durations = {step: Histogram() for step in STEPS}
        self.errors: Counter[str] = Counter()
        self.conflicts = 0
        self._store = store
        self._clock_s = clock_s
        self._commits = self.durations["commit"]

    async def load(self, name: str) -> Loaded:
        with _Step(self, "load"):
            return await self._store.load(name)

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        """Without `_Step`, whose overhead each report would pay."""
        began = self._clock_s()
        try:
            instead = await self._store.commit(loaded, group, reserve_ms)
        except StoreUnavailable:
            self.errors["commit"] += 1
            raise
        self._commits.observe(self._clock_s() - began)
        if instead is not None and instead.version != loaded.version:
            self.conflicts += 1
        return instead

    async def delete(self, loaded: Loaded) -> bool:
        """As the store's own, of a group that has expired."""
        with _Step(self, "delete"):
            done = await self._store.delete(loaded)
        self.conflicts += not done
        return done

    async def discard(self, name: str, act: str = "") -> int | NotDiscarded:
        """As the store's own."""
        with _Step(self, "discard"):
            return await self._store.discard(name, act)

    async def load_splits(self, name: str) -> LoadedSplits:
        """As the store's own."""
        with _Step(self, "load_splits"):
            return await self._store.load_splits(name)

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        """As the store's own."""
        with _Step(self, "commit_splits"):
            done = await self._store.commit_splits(loaded, sources, reserve_ms)
        self.conflicts += not done
        return done

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        await self._store.append_journal(name, entries)

    async def read_journal(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        """As the store's own."""
        with _Step(self, "read_journal"):
            return await self._store.read_journal(name, span, limit)

    async def append_sample(self, name: str, text: str) -> None:
        await self._store.append_sample(name, text)

    async def read_samples(self, name: str) -> list[tuple[int, str]]:
        """As the store's own."""
        with _Step(self, "read_samples"):
            return await self._store.read_samples(name)

    async def names(self, after: str, limit: int) -> list[str]:
        """Up to `limit` names of groups above `after`."""
        with _Step(self, "names"):
            return await self._store.names(after, limit)

    async def count(self) -> int:
        """How many groups there are."""
        with _Step(self, "count"):
            return await self._store.count()

    async def ping(self) -> None:
        with _Step(self, "ping"):
            await self._store.ping()

    async def dangers(self) -> list[str] | None:
        """As the store's own."""
        return await self._store.dangers()

    async def close(self) -> None:
        await self._store.close()

    def now_s(self) -> float:
        """Return the clock that steps are measured by, in seconds."""
        return self._clock_s()


class _Step:
    """One step under way."""

    __slots__ = ("_began", "_name", "_store")

    def __init__(self, store: ObservedStore, name: str) -> None:
        self._store = store
        self._name = name

    def __enter__(self) -> None:
        self._began = self._store.now_s()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._store.durations[self._name].observe(self._store.now_s() - self._began)
        elif isinstance(error, StoreUnavailable):
            self._store.errors[self._name] += 1
