"""Reservations, which let a commit succeed even though other processes keep committing first.

If two processes share a store, the one nearer to it commits faster. A commit of the other one is
based on a state that is a round trip old, so it is refused whenever the nearer one has committed
since. Without a reservation, the farther process would never commit while the nearer one is busy,
and its readers would be lost although they report.

After `REFUSALS` refusals, each further attempt carries a reservation. If the store refuses the
attempt, it still keeps the reservation, and the commits of all other processes wait. A reservation
lasts twice as long as the last attempt took, so that the next attempt arrives in time. It ends with
that attempt. If the process dies, its reservation delays the others once, until it runs out.

A commit that does not succeed within `WITHIN_S` fails with `StoreUnavailable`. The process is then
not ready, so that clients use another one, which may be nearer to the store.
"""

import asyncio

from lockgate_coordinator.store import StoreUnavailable

REFUSALS = 2
"""The number of refusals before a reservation. Even equally near processes collide now and then."""

WITHIN_S = 5.0
"""The seconds after which a commit that is still refused fails."""

RESERVED_MOST_MS = 2_000
"""The longest reservation (ms). A store that takes longer to answer counts as unavailable."""

MARGIN_MS = 5

UNREADY_S = 10.0
"""How long (s) the process is not ready after a failed commit, unless a later one succeeds."""


class Persistence:
    """The last failed commit of this process. All methods must be called in the event loop.

    `gave_up_at` is the loop's time at which the commit failed. It is None if no commit has failed,
    or if one has succeeded since.
    """

    def __init__(self) -> None:
        self.gave_up_at: float | None = None

    def check(self) -> None:
        """Raise `StoreUnavailable` for `UNREADY_S` after a failed commit, until one succeeds."""
        if self.gave_up_at is not None and asyncio.get_running_loop().time() - self.gave_up_at < UNREADY_S:
            raise StoreUnavailable(
                "commits of other coordinators keep overtaking this one's: it may be too far from Redis"
            )


class Attempts:
    """The attempts at one commit. The next one asks the store for a reservation of `reserve_ms`, or
    for none if this is 0. `what` describes the committed data in errors.
    """

    def __init__(self, persistence: Persistence, what: str) -> None:
        self._persistence = persistence
        self._what = what
        self._refusals = 0
        self._first = self._last = asyncio.get_running_loop().time()
        self.reserve_ms = 0

    def refused(self, *, overtaken: bool = True) -> None:
        """Record that the store has refused an attempt, and set `reserve_ms` for the next one.

        Refusals count towards `REFUSALS` if another commit came first. If the store still has the
        version on which this commit was based, pass `overtaken=False`. Raises `StoreUnavailable`
        once the attempts have taken `WITHIN_S` seconds.
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
