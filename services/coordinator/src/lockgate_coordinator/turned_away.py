"""Log lines about rejected clients: one for the first client, and one with the number of others."""

import asyncio
import logging

from lockgate.duration import spoken_s

log = logging.getLogger("lockgate")

SUMMED_UP_S = 10.0
"""The seconds for which further clients are counted before their number is logged."""


class TurnedAway:
    """A log of rejected clients, with at most two lines per `SUMMED_UP_S` seconds.

    Args:
        first: The line for the first client, formatted with the arguments of `note`.
        more: The line for further clients, formatted with their number, a duration, and the first
            argument of the last `note`.
    """

    def __init__(self, first: str, more: str) -> None:
        self._first, self._more = first, more
        self._number, self._last = 0, ""
        self._counting = False

    def note(self, *what: str) -> None:
        """Log a rejected client, or count it if one was logged in the last `SUMMED_UP_S` seconds.
        `what` is formatted into the line.
        """
        if self._counting:
            self._number, self._last = self._number + 1, what[0]
            return
        self._counting = True
        log.warning(self._first, *what)
        asyncio.get_running_loop().call_later(SUMMED_UP_S, self._sum_up)

    def _sum_up(self) -> None:
        self._counting = False
        if self._number:
            log.warning(self._more, self._number, spoken_s(SUMMED_UP_S), self._last)
            self._number = 0
