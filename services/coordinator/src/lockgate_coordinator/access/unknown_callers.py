"""Requests without a known token, in the log: the first at once, the others counted."""

import asyncio
import logging

from lockgate.duration import spoken_s

log = logging.getLogger("lockgate")

SUMMED_UP_S = 10.0
"""How long the requests after the first one are counted before the log has their number."""


class UnknownCallers:
    """A guesser fills no log, and one request is not missed."""

    def __init__(self) -> None:
        self._more = 0
        self._last: str | None = None
        self._counting = False

    def note(self, peer: tuple[str, int] | None, why: str) -> None:
        """Log or count a request from this address; `why` is the refusal."""
        self._last = "an unknown address" if peer is None else peer[0]
        if self._counting:
            self._more += 1
            return
        self._counting = True
        log.warning("401 for %s: %s", self._last, why)
        asyncio.get_running_loop().call_later(SUMMED_UP_S, self._sum_up)

    def _sum_up(self) -> None:
        self._counting = False
        if self._more:
            log.warning(
                "401 for %d more requests in %s, the last one from %s", self._more, spoken_s(SUMMED_UP_S), self._last
            )
            self._more = 0
