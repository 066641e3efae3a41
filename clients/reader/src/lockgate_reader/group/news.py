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
    """Calls `tell` for each event about a reader's splits, and passes the event's revision, or
    infinity if the event has no revision.
    """

    def __init__(self, client: CoordinatorClient, source: str, tell: Callable[[float], None]) -> None:
        self._client, self._source, self._tell = client, source, tell
        self._pace = Pace()
        self._reader: tuple[int, int] | None = None

    def follow(self, subtask: int, epoch: int) -> None:
        """Read the event stream of the reader that is registered as `subtask` with `epoch`, in the
        background. Stop reading any other stream.
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
            news = False
            try:
                stream = self._client.split_news(self._source, subtask, epoch)
                async with aclosing(alive(stream, self._client.timeout_s)) as revisions:
                    async for revision in revisions:  # None is a heartbeat
                        if self._reader != (subtask, epoch):
                            return
                        news = True
                        if revision is not None:
                            self._tell(revision)
                failures = 0 if news else failures + 1
            except (NotRegistered, Stale):
                return  # the reader registers again, and its next exchange calls `follow`
            except Unstreamed as error:
                log.info("%s, so new assignments arrive with the next report instead", error)
                await self._pace.sleep(STREAM_AGAIN_S)
            except AlignmentError as error:
                log.debug("the event stream of assignments failed, retrying: %s", error)
                failures += 1
            await self._pace.sleep(pause_s(failures, self._pace.chance()))
