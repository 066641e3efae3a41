"""What a store is: it loads a group and compare-and-sets it. The group's rules are core's, and run in the service.

    load(name)            the group with the store's time and a version: 0 if the store knows nothing of that name
    commit(loaded, new)   makes `new` the group if its version is still the one that was loaded; False: somebody was faster
    delete(loaded)        the same with no group; the version stays for a while, as the floor of a successor

So a command is load, rule, commit, and again if the commit lost. Versions are max(previous + 1, the store's time) and no version
comes twice, not even over a deleted group; a group that is loaded unchanged may be the very same object as last time.
Every store passes tests/coordinator/store/test_contract.py. What a store's own driver raises leaves it as `StoreUnavailable`.
"""

from dataclasses import dataclass
from typing import Protocol

from lockgate.group import Group, tick


class StoreUnavailable(Exception):
    """The store does not answer, or refuses to write. What was under way may or may not have been done."""


class InvalidStoreAddress(ValueError):
    """An address that names no store. The text never repeats the address, which may carry a password."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A group at one moment of the store's time."""

    name: str
    version: int
    now_ms: int
    group: Group | None

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
    """Where groups are kept. All methods raise `StoreUnavailable`."""

    shared: bool
    """Whether other processes may change groups behind this one's back."""

    async def load(self, name: str) -> Loaded: ...

    async def commit(self, loaded: Loaded, group: Group) -> bool: ...

    async def delete(self, loaded: Loaded) -> bool: ...

    async def names(self, after: str, limit: int) -> list[str]:
        """Up to `limit` names of groups above `after`, in order; a name may have been deleted a moment ago."""
        ...

    async def ping(self) -> None:
        """Returns if the store can be read and written."""
        ...

    async def close(self) -> None: ...
