"""The contract of a store, which loads a group, and replaces it if no other process has replaced it
meanwhile (compare-and-set). The group's rules are in the core, and run in the service.

    load(name)            the group, with the store's time and a version; version 0: the store
                          knows nothing of that name
    cached(name)          the same from this process's memory, which may be outdated; None: the
                          group must be loaded
    commit(loaded, new)   stores `new` if the version is still that of `loaded`, and answers None;
                          else answers what the store holds instead
    discard(name)         delete whatever is there, without reading it; once for each act. The
                          version stays for a while, as the floor of a successor

So each command takes the group from `cached` or `load`, applies the rule, and commits. It does so
again from the answer if the commit was refused. A cached group counts as confirmed only once a
commit of it succeeds. A store refuses it too if its time is more than `CACHED_WITHIN_MS` off the
store's own.

A process that was refused again and again reserves the group for its next commit (`reserve_ms`).
Those of other processes wait meanwhile, and are then refused.

A new version is max(previous + 1, the store's time). No version is given out twice, not even after
a group was deleted. If the store itself goes back in time, `histories` distinguishes the versions
of one history from those of another. A group that is loaded unchanged may be the very same object
as last time. Every store passes tests/coordinator/store/test_contract.py. Errors of a store's own
driver leave it as `StoreUnavailable`.

The split enumerators of a group's sources are kept beside the group, with versions of their own, so
that a report costs nothing more. They are deleted with the group:

    load_splits(name)            the enumerators by source, with the store's time and a version
    commit_splits(loaded, new)   stores `new` if the version is still that of `loaded`, and the
                                 group is there
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
"""How far the cached time of a commit may be from the store's own, in either direction. Leases end
with this precision.
"""


class NotDiscarded(Enum):
    """The reason why `discard` has deleted nothing."""

    NO_GROUP = "there is no group"
    DONE_BEFORE = "the same act deleted the group before"
    CHANGED = "the group has another version"


JOURNAL_KEPT: Final = 1_000
"""How many entries of a group's journal are kept, the newest ones. Redis may keep some more."""


SAMPLE_LEVELS: Final = ((10_000, 60), (60_000, 180), (600_000, 288))
"""The levels of samples, each with the ms between two samples and the number of samples kept. Older
samples are sparser: there is one every ten seconds for 10 minutes, every minute for 3 hours, and
every ten minutes for 2 days.
"""

SAMPLES_KEPT_MS: Final = 2 * 86_400_000
"""How long the samples of a group are kept after its last sample."""


class StoreUnavailable(Exception):
    """The store does not answer, or refuses to write. A commit in progress may have been stored or
    not.
    """


class UnreadableGroup(StoreUnavailable):
    """The store answers, but the stored data of one group cannot be read. Only requests for this
    group fail.
    """

    def __init__(self, name: str, reason: str, remedy: str) -> None:
        super().__init__(f"group {name!r} cannot be read: {reason}. {remedy}")
        self.name = name
        self.reason = reason
        self.remedy = remedy


class InvalidStoreAddress(ValueError):
    """An address that is not valid for a store. The text never quotes the address, which may
    contain a password.
    """


@dataclass(frozen=True, slots=True)
class State(Generic[V]):
    """A value of a store at one moment of the store's time. It is `confirmed` if it comes from the
    store, and not from this process's cache. `series` is for a store that may lose its history
    (`histories`). `jumps` are those of the store's clock, which the next commit makes up for
    (`lockgate.group.clock_jumps`). `lost` means that the store has lost commits that this process
    had made or seen.
    """

    name: str
    version: int
    now_ms: int
    value: V
    confirmed: bool = True
    series: str = ""
    jumps: tuple[ClockJump, ...] = ()
    lost: bool = False

    @property
    def next_version(self) -> int:
        """The version after a commit upon this state."""
        return tick(self.version, self.now_ms)


class Loaded(State[Group | None]):
    """A group, or None if there is none."""

    __slots__ = ()

    @property
    def group(self) -> Group | None:
        """The group."""
        return self.value


class LoadedSplits(State[Mapping[str, Enumerator]]):
    """The enumerators of a group's sources."""

    __slots__ = ()

    @property
    def sources(self) -> Mapping[str, Enumerator]:
        """The enumerators by source."""
        return self.value


@dataclass(frozen=True, slots=True)
class JournalSpan:
    """A range of journal entries, from above the id `after` to below `before`; an empty id is no
    bound. Ids are MS-NUMBER, by the store's time.
    """

    after: str = ""
    before: str = ""
    newest_first: bool = True


class Store(Protocol):
    """A place that keeps groups. All awaited methods raise `StoreUnavailable`. Those that read a
    group raise `UnreadableGroup` if only that group cannot be read.
    """

    shared: bool
    """Whether groups live outside this process: other processes may change them, and every answer
    is a round trip.
    """

    def cached(self, name: str) -> Loaded | None: ...

    async def load(self, name: str) -> Loaded: ...

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        """Commit, or return what the store has instead. `reserve_ms` is how long a refused commit
        keeps those of other processes waiting.
        """
        ...

    async def discard(self, name: str, act: str = "", only: Loaded | None = None) -> int | NotDiscarded:
        """Delete the group, however large it is, and even if it cannot be read. With `only`, delete
        it only if it still has that version. Returns how many readers it had. A successor of a
        group that the same `act` had deleted is left alone.
        """
        ...

    async def load_splits(self, name: str) -> LoadedSplits:
        """Return the group's enumerators, or none if the group does not exist or has none."""
        ...

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        """Commit, or return False if the store has another version. Raises `UnknownGroup` if the
        group was deleted, which deletes its enumerators too. `reserve_ms` is as in `commit`.
        """
        ...

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        """Add to the journal of a group, which is deleted with the group. Writes nothing if the
        group does not exist.
        """
        ...

    async def read_journal(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        """Return up to `limit` entries of the group's journal, each with its id, or none if the
        group does not exist.
        """
        ...

    async def append_sample(self, name: str, text: str) -> None:
        """Add a sample to each of the group's `SAMPLE_LEVELS` whose newest one is old enough."""
        ...

    async def read_samples(self, name: str) -> list[tuple[int, str]]:
        """Return the samples of the group with their times in ms, at the finest level that there is
        for each time.
        """
        ...

    async def names(self, after: str, limit: int) -> list[str]:
        """Return up to `limit` names of groups above `after`, in order. A group may have been
        deleted a moment ago.
        """
        ...

    async def count(self) -> int:
        """Return the number of groups."""
        ...

    async def ping(self) -> None:
        """Check that the store can be read and written."""
        ...

    async def dangers(self) -> list[str] | None:
        """Return which of the store's own settings may lose groups, one sentence each, or None if
        the store does not say now. Raises nothing.
        """
        ...

    async def close(self) -> None: ...


def finest(levels: Sequence[Sequence[tuple[int, str]]]) -> list[tuple[int, str]]:
    """Return the samples of all levels, given with the finest first, as one series. Each level adds
    what is older than the level before it.
    """
    found = list[tuple[int, str]]()
    for level in levels:
        begin = found[0][0] if found else None
        found = [each for each in level if begin is None or each[0] < begin] + found
    return found
