"""News of a reader's splits as soon as there are any, by the reader's own event stream.

An event is a reason to exchange, never an order: what it says may be over when it arrives. An event
of a revision that an answer has had is none: the reader knows (`Unheeded`). Where no stream comes
through, or it breaks, the reader learns the same with its next exchange, so nothing is lost but
time. A stream that ends is opened anew.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from math import inf

from lockgate_http.calls.answers import NotRegistered, Stale, Unstreamed
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.listener import SILENCE_S, STREAM_AGAIN_S
from lockgate_http.calls.retry import Pace, pause_s
from lockgate_http.errors import AlignmentError

log = logging.getLogger("lockgate")


class Unheeded:
    """News that no answer to an exchange has covered yet. Pure. An exchange may be sent before the
    news came, and answered after it: then the news is as new as before.
    """

    def __init__(self) -> None:
        self._revision = 0.0
        self._others = self._heeded = 0

    def comes(self, revision: float) -> None:
        """There is news of this revision; infinity: of none. Revisions of a coordinator that has
        lost its history may be lower than before.
        """
        if revision == inf:
            self._others += 1
        else:
            self._revision = max(self._revision, revision)

    @property
    def mark(self) -> tuple[float, int]:
        """For `answered`: to be taken before an exchange is sent."""
        return self._revision, self._others

    def answered(self, mark: tuple[float, int]) -> None:
        """Note that an exchange was answered: it covers all news from before it was sent."""
        revision, self._heeded = mark
        if self._revision == revision:
            self._revision = 0.0

    def is_there(self, seen: int) -> bool:
        """Return whether there is any. `seen`: the revision of the last answer."""
        return self._revision > seen or self._others != self._heeded


class SplitNews:
    """Calls `tell` for each event that concerns the splits of one reader, with its revision;
    infinity for an event without.
    """

    def __init__(
        self, client: CoordinatorClient, source: str, tell: Callable[[float], None], pace: Pace | None = None
    ) -> None:
        self._client, self._source, self._tell = client, source, tell
        self._pace = pace or Pace()
        self._reader: tuple[int, int] | None = None

    def follow(self, subtask: int, epoch: int) -> None:
        """Follow the stream of this reader, from now on."""
        if self._reader != (subtask, epoch):
            self._reader = (subtask, epoch)
            self._client.begin(lambda: self._listen(subtask, epoch))

    def close(self) -> None:
        """Follow no stream any more."""
        self._reader = None

    async def _listen(self, subtask: int, epoch: int) -> None:
        failures = 0
        while self._reader == (subtask, epoch):
            try:
                failures = 0 if await self._follow(subtask, epoch) else failures + 1
            except (NotRegistered, Stale):
                return  # the next exchange registers, and follows again
            except Unstreamed as error:
                log.info("%s, so new assignments arrive with the next report instead", error)
                await self._pace.sleep(STREAM_AGAIN_S)
            except AlignmentError as error:
                log.debug("the event stream of assignments failed, retrying: %s", error)
                failures += 1
            await self._pace.sleep(pause_s(failures, self._pace.chance()))

    async def _follow(self, subtask: int, epoch: int) -> bool:
        """Read the stream until it ends, and return whether it brought anything."""
        news, within_s, ended = False, self._client.timeout_s, object()
        async with aclosing(self._client.split_news(self._source, subtask, epoch)) as events:
            while self._reader == (subtask, epoch):
                try:
                    event = await asyncio.wait_for(anext(events, ended), within_s)
                except asyncio.TimeoutError:
                    raise Unstreamed("the event stream of the reader was silent for too long") from None
                if event is ended:
                    break
                within_s, news = SILENCE_S, True
                if isinstance(event, (int, float)):
                    self._tell(event)
        return news
