"""Outages of the coordinator: when to call again, and what a query does meanwhile.

With `hold`, a query reads up to the last ceiling and waits there, so that no query runs ahead of
its group. With `proceed` and `fail`, it first does the same for `hold_for`, which should be longer
than a restart or a fail-over of the coordinator. After that, `proceed` lets the query ignore the
group's ceiling, while its own splits stay aligned, and `fail` stops the query with an error.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from lockgate.duration import spoken_s
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds

log = logging.getLogger("lockgate")

ASK_AGAIN_S = 0.5


class Coordination(str, Enum):
    """The read limit that a query follows.

    It is the group's current one (`connected`), the last one received before an outage (`holding`),
    or only that of the query's own partitions (`proceeding`).
    """

    CONNECTED = "connected"
    HOLDING = "holding"
    PROCEEDING = "proceeding"


@dataclass(frozen=True, slots=True)
class Policy:
    """The user's choice for outages.

    `on_outage` is `hold`, `proceed` or `fail`. The last two take effect after `hold_for_s` seconds.
    """

    on_outage: str
    hold_for_s: float

    @classmethod
    def of(cls, coordinator: Coordinator) -> "Policy":
        return cls(coordinator.on_outage, milliseconds("Coordinator(hold_for)", coordinator.hold_for) / 1000)

    def in_force(self, lasted_s: float | None) -> Coordination:
        """Return which read limit to follow after `lasted_s` seconds of an outage.

        `lasted_s` is None if there is no outage.
        """
        if lasted_s is None:
            return Coordination.CONNECTED
        proceeds = self.on_outage == "proceed" and lasted_s >= self.hold_for_s
        return Coordination.PROCEEDING if proceeds else Coordination.HOLDING

    def fails(self, lasted_s: float | None) -> bool:
        return self.on_outage == "fail" and lasted_s is not None and lasted_s >= self.hold_for_s

    def __str__(self) -> str:
        return "" if self.on_outage == "hold" else f", and {self.on_outage}s after {spoken_s(self.hold_for_s)}"


class Outage:
    """The current outage, if any, as this process sees it. `now` gives monotonic seconds."""

    def __init__(self, group: str, now: Callable[[], float]) -> None:
        self._group, self._now = group, now
        self._since: float | None = None
        self._ask_at = 0.0

    @property
    def lasts(self) -> bool:
        """Whether there is an outage. It lasts from a failed call to the next answered report."""
        return self._since is not None

    @property
    def lasted_s(self) -> float | None:
        """The seconds that the outage has lasted, or None without an outage."""
        since = self._since
        return None if since is None else self._now() - since

    @property
    def asks_now(self) -> bool:
        """Whether a call may be made now. During an outage there is a pause before each call."""
        return not self.lasts or self._now() >= self._ask_at

    def begins(self, why: Exception, until_then: str) -> None:
        """Record that a call failed with the error `why`.

        If this begins an outage, log a warning with `why` and `until_then`, which says what the
        query does meanwhile.
        """
        self._ask_at = self._now() + ASK_AGAIN_S
        if self._since is None:
            self._since = self._now()
            log.warning("group %s: %s; %s", self._group, why, until_then)

    def ends(self) -> None:
        lasted_s, self._since = self.lasted_s, None
        if lasted_s is not None:
            log.warning("group %s: the coordinator is back after %s", self._group, spoken_s(lasted_s))
