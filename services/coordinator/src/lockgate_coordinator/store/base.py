"""The contract of a store, which loads groups and replaces them by compare-and-set.

A group is replaced only if no other process has replaced it meanwhile. Its rules are in the core.

    load(name)            returns the group, with the store's time and a version, which is 0 if
                          the store has never had a group of that name
    cached(name)          returns the same from this process's memory, which may be outdated, or
                          None if the group has to be loaded
    commit(loaded, new)   stores `new` if the store still has the version of `loaded`, and returns
                          None; otherwise returns the state that the store has instead
    discard(name)         deletes the group without reading it, at most once for each request. The
                          store remembers its version for a while, because a new group of that
                          name must begin with a higher one

Each command takes the group from `cached` or `load`, applies its rule, and commits the result. If
the store refuses the commit, the rule is applied again to the state that the store returned. A
commit that is based on a cached group may be refused, because that group may be outdated. The store
also refuses such a commit if the time of the cached group differs from the store's own by more than
`CACHED_WITHIN_MS`.

A process whose commits were refused several times reserves the group for its next commit
(`reserve_ms`). Meanwhile the commits of other processes wait, and are then refused.

A new version is max(previous + 1, the store's time). No version is given out twice, not even after
a group was deleted. If the store itself goes back in time, `histories` distinguishes the versions
of different histories. A group that has not changed may be loaded as the same object again. Errors
of a store's driver are raised as `StoreUnavailable`. Every store passes
tests/coordinator/store/test_contract.py.

The split enumerators of a group's sources are stored apart from the group, with versions of their
own, so that reports do not write them. They are deleted with the group:

    load_splits(name)            returns the enumerators by source, with the store's time and a
                                 version
    commit_splits(loaded, new)   stores `new` if the store still has the version of `loaded`, and
                                 the group exists
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group, tick
from lockgate.group.now import ClockJump

V = TypeVar("V")

CACHED_WITHIN_MS = 50
"""The maximum error (ms) of a cached group's time. Leases end with this precision."""


class NotDiscarded(Enum):
    """The reason why `discard` has deleted nothing."""

    NO_GROUP = "there is no group"
    DONE_BEFORE = "the same act deleted the group before"
    CHANGED = "the group has another version"


JOURNAL_KEPT: Final = 1_000
"""The number of journal entries that are kept for each group. Redis may keep a few more."""

SAMPLE_LEVELS: Final = ((10_000, 60), (60_000, 180), (600_000, 288))
"""The levels of samples, each with the ms between two samples and the number of samples that are
kept: one every ten seconds for 10 minutes, one a minute for 3 hours, and one every ten minutes for
2 days.
"""

SAMPLES_KEPT_MS: Final = 2 * 86_400_000
"""How long the samples of a group are kept after the last one."""


class StoreUnavailable(Exception):
    """Raised if the store does not answer or write. A commit in progress may have been stored."""


class UnreadableGroup(StoreUnavailable):
    """Raised if the stored data of one group cannot be read. Other groups are not affected."""

    def __init__(self, name: str, reason: str, remedy: str) -> None:
        super().__init__(f"group {name!r} cannot be read: {reason}. {remedy}")
        self.name = name
        self.reason = reason
        self.remedy = remedy


class InvalidStoreAddress(ValueError):
    """Raised if the address of a store is invalid. The text does not quote the address."""


@dataclass(frozen=True, slots=True)
class State(Generic[V]):
    """A stored value, with the time of the store's clock when the value was returned (`now_ms`).

    Attributes:
        confirmed: Whether the value comes from the store, and not from this process's cache.
        series: The series that the commit of this version belongs to: consecutive commits of one
            process (`histories`). It is empty for a store in memory.
        jumps: The jumps of the store's clock by which the next commit has to move the group's times
            (`lockgate.group.clock_jumps`).
        server: The server of the store that returned the value, which a commit must reach again.
            It is empty for a store in memory, or if it is not known.
        lost: Whether the store may have lost commits: this process had made or seen them, or
            another server has accepted the last one.
    """

    name: str
    version: int
    now_ms: int
    value: V
    confirmed: bool = True
    series: str = ""
    jumps: tuple[ClockJump, ...] = ()
    server: str = ""
    lost: bool = False

    @property
    def next_version(self) -> int:
        """The version of a commit that is based on this state."""
        return tick(self.version, self.now_ms)


class Loaded(State[Group | None]):
    """The state of a group. Its value is None if the group does not exist."""

    __slots__ = ()

    @property
    def group(self) -> Group | None:
        """The group, or None if it does not exist."""
        return self.value


class LoadedSplits(State[Mapping[str, Enumerator]]):
    """The state of a group's split enumerators, one for each source."""

    __slots__ = ()

    @property
    def sources(self) -> Mapping[str, Enumerator]:
        """The enumerators by source."""
        return self.value


@dataclass(frozen=True, slots=True)
class JournalSpan:
    """A range of journal entries, whose ids have the form MS-NUMBER. `after` and `before` are its
    exclusive lower and upper bounds, or empty strings for no bound.
    """

    after: str = ""
    before: str = ""
    newest_first: bool = True


class Store(Protocol):
    """A store of groups. All `async` methods may raise `StoreUnavailable`, and those that read a
    group may raise `UnreadableGroup`.
    """

    shared: bool
    """Whether other processes may change the groups. Then each call takes a round trip."""

    def cached(self, name: str) -> Loaded | None: ...

    async def load(self, name: str) -> Loaded: ...

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        """Store `group` if the store still has the version of `loaded`, and return None. Otherwise
        return the state that the store has instead, and make the commits of other processes wait
        for `reserve_ms`.
        """
        ...

    async def discard(self, name: str, act: str = "", only: Loaded | None = None) -> int | NotDiscarded:
        """Delete the group, even if it cannot be read, and return the number of its readers. If
        nothing was deleted, return the reason.

        If `only` is given, delete the group only if it still has the version of that state. `act`
        identifies the request. If the same request has already deleted a group of this name, do not
        delete a newer group.
        """
        ...

    async def load_splits(self, name: str) -> LoadedSplits:
        """Return the state of the group's enumerators, with no enumerators if there is no group."""
        ...

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        """Store the enumerators in `sources` and return True, or return False if the store no
        longer has the version of `loaded`. `reserve_ms` is as in `commit`. Raises `UnknownGroup` if
        the group was deleted.
        """
        ...

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        """Add entries to the journal of a group, if the group exists."""
        ...

    async def read_journal(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts of the first `limit` journal entries in `span`."""
        ...

    async def append_sample(self, name: str, text: str) -> None:
        """Add a sample to those of the group's `SAMPLE_LEVELS` that are empty, or whose newest
        sample is at least one interval old. Do nothing if the group does not exist.
        """
        ...

    async def read_samples(self, name: str) -> list[tuple[int, str]]:
        """Return the times in ms and the texts of the group's samples, in order of time."""
        ...

    async def names(self, after: str, limit: int) -> list[str]:
        """Return up to `limit` names of groups that sort after `after`, in order."""
        ...

    async def count(self) -> int:
        """Return the number of groups."""
        ...

    async def ping(self) -> None:
        """Check that the store can be read and written."""
        ...

    async def dangers(self) -> list[str] | None:
        """Return a sentence for each setting that may lose groups, or None if the settings cannot
        be read.
        """
        ...

    async def close(self) -> None: ...


def finest(levels: Sequence[Sequence[tuple[int, str]]]) -> list[tuple[int, str]]:
    """Return the samples of all levels as one list of pairs of time (ms) and text.

    `levels` begins with the level with the shortest intervals. Each further level adds the samples
    that are older than those of the levels before.
    """
    found = list[tuple[int, str]]()
    for level in levels:
        begin = found[0][0] if found else None
        found = [each for each in level if begin is None or each[0] < begin] + found
    return found
