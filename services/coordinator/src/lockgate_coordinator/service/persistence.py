"""Reservations, by which a commit that other processes keep overtaking succeeds in the end.

Of two processes over one store the nearer one commits faster. A commit of the farther one arrives
with a state that is a round trip old, so it is refused whenever the nearer one has committed since.
Without a reservation the farther process would never commit while the nearer one is busy, and its
readers would be lost although they report.

After `REFUSALS` refusals each further attempt carries a reservation. The store keeps it even if it
refuses the attempt, and the commits of all other processes wait meanwhile. A reservation lasts
twice as long as the last attempt took, so that the next attempt arrives in time, and ends with that
attempt. If the process dies, it delays the others once, by that much.

A commit that does not succeed within `WITHIN_S` fails with `StoreUnavailable`. The process is then
not ready, so that clients use another one, which may be nearer to the store.
"""

import asyncio

from lockgate_coordinator.store import StoreUnavailable

REFUSALS = 2
"""The refusals without a reservation. Even equally near processes collide now and then."""

WITHIN_S = 5.0
"""How long a commit is tried."""

RESERVED_MOST_MS = 2_000
"""The longest reservation. A store that takes longer to answer counts as unavailable."""

MARGIN_MS = 5

UNREADY_S = 10.0
"""How long the process is not ready after a commit has failed, unless a later one succeeds."""


class Persistence:
    """The commits of one process. All methods are called in its event loop. `gave_up_at` is the
    time when a commit last failed, or None if one has succeeded since.
    """

    def __init__(self) -> None:
        self.gave_up_at: float | None = None

    def check(self) -> None:
        """Raise `StoreUnavailable` if other processes keep overtaking the commits of this one."""
        if self.gave_up_at is not None and asyncio.get_running_loop().time() - self.gave_up_at < UNREADY_S:
            raise StoreUnavailable(
                "commits of other coordinators keep overtaking this one's: it may be too far from Redis"
            )


class Attempts:
    """The attempts at a commit of `what`. The next one reserves the group for `reserve_ms`."""

    def __init__(self, persistence: Persistence, what: str) -> None:
        self._persistence = persistence
        self._what = what
        self._refusals = 0
        self._first = self._last = asyncio.get_running_loop().time()
        self.reserve_ms = 0

    def refused(self, *, overtaken: bool = True) -> None:
        """Count a refusal. The commit was not `overtaken` if the store still has the version that
        the commit was based on. Raises `StoreUnavailable` after `WITHIN_S`.
        """
        now, began = asyncio.get_running_loop().time(), self._last
        if now - self._first >= WITHIN_S:
            self._persistence.gave_up_at = now
            raise StoreUnavailable(f"{self._what} kept changing for {WITHIN_S:g} s: send the request again")
        self._refusals, self._last = self._refusals + overtaken, now
        if self._refusals >= REFUSALS:
            self.reserve_ms = min(RESERVED_MOST_MS, round(2_000 * (now - began)) + MARGIN_MS)

    def got_through(self) -> None:
        """Record that the commit is stored."""
        self._persistence.gave_up_at = None
