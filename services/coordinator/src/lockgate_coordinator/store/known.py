"""Groups as this process has seen them last, so that it need not ask again for what it knows."""

import time
from dataclasses import dataclass

from lockgate.group.group import Group

KNOWN_GROUPS = 1_024
"""How many groups are kept; the one that was not seen for longest goes first."""


@dataclass(frozen=True, slots=True)
class Known:
    """A group at a version; `ahead_ms` is Redis's clock less our monotonic one.

    `opened` is how many connections had been opened when it was seen. If there are more, they may
    lead to a Redis with another history.
    """

    version: int
    group: Group | None
    ahead_ms: float
    opened: int

    def now_ms(self) -> int:
        """Redis's time, as far as we know."""
        return int(monotonic_ms() + self.ahead_ms)


class KnownGroups:
    """By name, and void once a connection has been opened since."""

    def __init__(self) -> None:
        self._groups: dict[str, Known] = {}

    def get(self, name: str, opened: int) -> Known | None:
        known = self._groups.get(name)
        return known if known is not None and known.opened == opened else None

    def keep(self, name: str, known: Known) -> None:
        self._groups.pop(name, None)
        if known.group is not None:
            self._groups[name] = known
        if len(self._groups) > KNOWN_GROUPS:
            del self._groups[next(iter(self._groups))]

    def drop(self, name: str) -> None:
        self._groups.pop(name, None)


def monotonic_ms() -> float:
    """Of this machine, from any beginning."""
    return time.monotonic() * 1_000
