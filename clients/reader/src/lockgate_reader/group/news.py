"""Receives an event from the coordinator when the splits of a reader change.

An event may be outdated when it arrives, so it only makes the reader send its next exchange
(`joined`) earlier. Without events, the reader gets the changes with its next regular exchange. Each
reader has its own event stream. A stream that ends is opened again.
"""

import logging
from collections.abc import Callable
from contextlib import aclosing

from lockgate_http.calls.answers import NotRegistered, Stale, Unstreamed
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.listener import STREAM_AGAIN_S, alive
from lockgate_http.calls.retry import Pace, pause_s
from lockgate_http.errors import AlignmentError

log = logging.getLogger("lockgate")


class SplitNews:
    """Calls `tell` for each event about a reader's splits, with the event's revision, or infinity
    if the event has none.
    """

    def __init__(self, client: CoordinatorClient, source: str, tell: Callable[[float], None]) -> None:
        self._client, self._source, self._tell = client, source, tell
        self._pace = Pace()
        self._reader: tuple[int, int] | None = None

    def follow(self, subtask: int, epoch: int) -> None:
        """Start to read, in the background, the event stream of the reader that is registered as
        `subtask` with `epoch`. Stop reading any other stream.
        """
        if self._reader != (subtask, epoch):
            self._reader = (subtask, epoch)
            self._client.begin(lambda: self._listen(subtask, epoch))

    def close(self) -> None:
        """Stop reading the event stream."""
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
        """Read the event stream until it ends, and return whether any event or heartbeat
        arrived.
        """
        news = False
        stream = self._client.split_news(self._source, subtask, epoch)
        async with aclosing(alive(stream, self._client.timeout_s)) as revisions:
            async for revision in revisions:
                if self._reader != (subtask, epoch):
                    break
                news = True
                if revision is not None:
                    self._tell(revision)
        return news
