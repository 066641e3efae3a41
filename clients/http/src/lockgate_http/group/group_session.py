"""The session that all queries of this process share in one group of one coordinator.

**The connection** has one socket for calls and one for the stream of events. The first query opens
the connection, and the last one closes it. A forked process has to open its own. One request
carries the reports of several queries (`combined_reports`).

**The keeper** is a thread that renews leases. While a query's own thread is in a long batch, the
keeper repeats the query's last report whenever the last answered report is a sixth of a lease old.
The repeated report is still true, because a query reads further only with its next plan.

**News of the group** comes in answers and by the stream (`listener`), and is passed to every query
at once. Each query decides whether it may use the news (`ceiling`).
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lockgate.wire.events import GroupConfig
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.credentials import Access
from lockgate_http.calls.listener import Listener
from lockgate_http.config import Coordinator
from lockgate_http.duration import Duration
from lockgate_http.group.combined_reports import PATIENCE_S, CombinedReports, Member
from lockgate_http.group.outage import ASK_AGAIN_S, Outage

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("lockgate")


class GroupSession:
    """The session of this process in one group, thread-safe. Get it from `joined`.

    For tests, `transport` replaces httpx's, and `now` the monotonic clock in seconds.

    Attributes:
        config: The group's configuration, or None until it has been fetched.
        configured_at: The time (ms) at which an operator set `config`, or None.
        changed: The condition that is notified of all news of the group.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        transport: "httpx.AsyncBaseTransport | None" = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.group = coordinator.group
        self.now = now
        self.client = CoordinatorClient(coordinator, transport)
        self.outage = Outage(self.group, now)
        self.config: GroupConfig | None = None
        self.configured_at: int | None = None
        self.changed = threading.Condition()
        self.combined_reports = CombinedReports(self.client, now, self._due_soon, self.tell)
        self.users = 1
        self._members: tuple[Member, ...] = ()
        self._config_version: int | None = None
        self._configuring = threading.Lock()
        self._listens = False
        self._closed = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name=f"lockgate-{self.group}", daemon=True)
        self._keeper.start()

    @classmethod
    def joined(cls, coordinator: Coordinator) -> "GroupSession":
        """Return this process's session in the group, or open one. Call `leave` at the end."""
        key = Access.of(coordinator), coordinator.group, coordinator.timeout
        with _open_lock:
            session = _open.get(key)
            if session is None:
                session = _open[key] = cls(coordinator)
            else:
                session.users += 1
            return session

    @property
    def update_interval_s(self) -> float:
        """The seconds after which a reader repeats a report that has not changed."""
        return (self.config or GroupConfig()).update_interval_ms / 1000

    @property
    def lease_s(self) -> float:
        """The seconds for which a reader's lease lasts after its report."""
        return (self.config or GroupConfig()).lease_ms / 1000

    @property
    def tolerance_s(self) -> float:
        """The age (s) up to which a query's last answered report lets news raise its ceiling.

        The coordinator does not treat a shorter silence of all readers as an outage
        (`lockgate.group.leases.tolerance_ms`).
        """
        return self.lease_s / 3

    def enter(self, member: Member) -> None:
        """Add the member. From now on it receives the group's news, and its lease is renewed."""
        with self.changed:
            self._members = (*self._members, member)

    def leave(self, member: Member) -> None:
        """Remove the member, and close the session if nothing else in this process uses it."""
        with self.changed:
            self._members = tuple(other for other in self._members if other is not member)
        with _open_lock:
            self.users -= 1
            if self.users > 0:
                return
            for key in [key for key, session in _open.items() if session is self]:
                del _open[key]
        self._closed.set()
        self.client.close()
        self._keeper.join(PATIENCE_S)

    def tell(self, event: Event, but: Sequence[Member] = ()) -> None:
        """Pass news of the group on to all members except `but`, which have it already."""
        self._listen()
        with self.changed:
            for member in self._members:
                if member not in but:
                    member.on_event(event)
            self.changed.notify_all()

    def follow_config(self, version: int | None) -> None:
        """Fetch the group's configuration, unless the last fetched one has this `version`."""
        with self._configuring:
            if version != self._config_version or self.config is None:
                found = self.client.configuration()
                self.config, self.configured_at, self._config_version = found.config, found.configured_at, version

    # -- inside --

    def _due_soon(self) -> Sequence[Member]:
        return [member for member in self._members if member.is_due(self.update_interval_s / 2)]

    def _listen(self) -> None:
        """Start the listener, unless it runs. Call this after an answer: then the group exists."""
        if not self._listens:
            self._listens = True
            self.client.begin(Listener(self.client, self.tell, self._gone).listen)

    def _gone(self) -> None:
        with self.changed:
            for member in self._members:
                member.invalidate()
            self.changed.notify_all()

    def _keep(self) -> None:
        """Keep each member's report younger than a third of a lease.

        A report is repeated after a sixth of a lease, and the keeper wakes up every twelfth of a
        lease. This leaves another twelfth for retries. The pause before a retry is up to 0.5 s, so
        a retry is sure to be made in time only if leases are at least 6 s long.
        """
        while not self._closed.wait(min(self.update_interval_s, self.lease_s / 12, ASK_AGAIN_S)):
            for member in self._members:
                if self.outage.asks_now if self.outage.lasts else member.is_due(self.lease_s / 6):
                    member.renew_lease()


_open: dict[tuple[Access, str, Duration], GroupSession] = {}
_open_lock = threading.Lock()


def _forget_all() -> None:
    global _open_lock  # another thread of the parent may have held it
    _open_lock = threading.Lock()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
