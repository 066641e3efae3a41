"""What a store is: it loads a group and compare-and-sets it. The group's rules are core's, and run
in the service.

    load(name)            the group with the store's time and a version: 0 if the store knows nothing of that name
    recall(name)          the same out of this process's memory, which may be outdated; None: it must be loaded
    commit(loaded, new)   makes `new` the group if its version is still the one of `loaded`; else what stands there instead
    delete(loaded)        the same with no group; the version stays for a while, as the floor of a successor
    claim(name)           load, and a word to the other processes to leave the group to this one for a moment

So a command is recall or load, rule, commit, and again with what stood in its way if the commit was
refused. What was recalled is sure only once a commit of it succeeds: a store refuses it too if the
time that was recalled is more than `RECALLED_WITHIN_MS` off its own.

Versions are max(previous + 1, the store's time) and no version comes twice, not even over a deleted
group; a group that is loaded unchanged may be the very same object as last time. Every store passes
tests/coordinator/store/test_contract.py. What a store's own driver raises leaves it as
`StoreUnavailable`.
"""

from dataclasses import dataclass
from typing import Protocol

from lockgate.group.group import Group, tick

RECALLED_WITHIN_MS = 50
"""How far the time of a commit may be from the store's own, before or behind: leases end that
sharply.
"""

CLAIMED_MS = 40
"""For how long a claim keeps others away. It is advice, which saves commits that would be refused:
nothing is the less safe without it.
"""


class StoreUnavailable(Exception):
    """The store does not answer, or refuses to write. What was under way may or may not have been
    done.
    """


class InvalidStoreAddress(ValueError):
    """An address that names no store. The text never repeats the address, which may carry a
    password.
    """


@dataclass(frozen=True, slots=True)
class Loaded:
    """A group at one moment of the store's time; `sure`: the store said so, and it was not
    recalled.
    """

    name: str
    version: int
    now_ms: int
    group: Group | None
    sure: bool = True

    @property
    def next_version(self) -> int:
        """What a commit of this makes the version."""
        return tick(self.version, self.now_ms)

    @property
    def last_version(self) -> int:
        """What a delete of this leaves: nothing that the group ever gave out is above it."""
        high_water = 0 if self.group is None else self.group.high_water
        return max(self.next_version, high_water)


class Store(Protocol):
    """Where groups are kept. All methods that are awaited raise `StoreUnavailable`."""

    shared: bool
    """Whether groups live outside this process: others may change them behind its back, and every
    answer takes its time.
    """

    def recall(self, name: str) -> Loaded | None: ...

    async def load(self, name: str) -> Loaded: ...

    async def commit(self, loaded: Loaded, group: Group) -> Loaded | None: ...

    async def delete(self, loaded: Loaded) -> bool: ...

    async def claim(self, name: str) -> int:
        """0: the group is ours for `CLAIMED_MS`, and can be recalled as it stands; else in how many
        ms it is worth to ask again.
        """
        ...

    async def names(self, after: str, limit: int) -> list[str]:
        """Up to `limit` names of groups above `after`, in order; a name may have been deleted a
        moment ago.
        """
        ...

    async def ping(self) -> None:
        """Returns if the store can be read and written."""
        ...

    async def close(self) -> None: ...
