"""Log lines about outages of the store: when one begins, while it lasts, and when it ends."""

import logging
from collections.abc import Callable
from time import monotonic

from lockgate.duration import spoken_s

log = logging.getLogger("lockgate")

SAID_AGAIN_S = 30.0
"""How often an ongoing outage is logged again."""


class Outages:
    """A log of the outages of a store.

    `now` is true if the last operation has failed, or if none has succeeded yet. Failures before
    the first success are not logged, because the service then fails to start, with the reason.
    `clock` returns monotonic seconds.
    """

    def __init__(self, store: str, clock: Callable[[], float] = monotonic) -> None:
        self.now = True
        self._begun = False
        self._store = store
        self._clock = clock
        self._since = self._said = 0.0
        self._failed = 0

    def failed(self, text: str) -> None:
        """Record that an operation has failed. Log the outage when it begins, and again every
        `SAID_AGAIN_S`. `text` names the store and the reason.
        """
        if not self._begun:
            return
        now = self._clock()
        if not self.now:
            self.now, self._since, self._said, self._failed = True, now, now, 0
            log.error("the store does not answer, so requests get 503: %s", text)
        elif now - self._said >= SAID_AGAIN_S:
            self._said = now
            log.error(
                "the store has not answered for %s; %d operations have failed: %s",
                spoken_s(now - self._since),
                self._failed + 1,
                text,
            )
        self._failed += 1

    def over(self) -> None:
        """Record that an operation has succeeded, and log the end of an outage, if any."""
        self.now = False
        if not self._begun:
            self._begun = True
            return
        log.warning(
            "%s answers again after %s, in which %d operations failed",
            self._store,
            spoken_s(self._clock() - self._since),
            self._failed,
        )
