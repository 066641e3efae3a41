"""While the coordinator cannot be reached: when to ask again, and one line in the log at either end."""

import logging
from collections.abc import Callable

log = logging.getLogger("lockgate")

ASK_AGAIN_S = 0.5


class Outage:
    """Whether there is one, as far as one reader can tell. `now`: seconds, monotonic."""

    def __init__(self, group: str, now: Callable[[], float]) -> None:
        self._group, self._now = group, now
        self._since: float | None = None
        self._ask_at = 0.0

    @property
    def lasts(self) -> bool:
        """From a call that failed to the next report that is answered."""
        return self._since is not None

    @property
    def asks_now(self) -> bool:
        """Whether it is time to try."""
        return not self.lasts or self._now() >= self._ask_at

    def begins(self, why: Exception, until_then: str) -> None:
        """A call failed. `until_then`: what the query does meanwhile."""
        self._ask_at = self._now() + ASK_AGAIN_S
        if self._since is None:
            self._since = self._now()
            log.warning("group %s: %s; %s", self._group, why, until_then)

    def ends(self) -> None:
        """A report was answered."""
        if self._since is not None:
            log.warning("group %s: the coordinator is back after %.1f s", self._group, self._now() - self._since)
            self._since = None
