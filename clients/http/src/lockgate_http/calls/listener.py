"""The listener, which receives a group's events without delay.

It uses Server-Sent Events, or long polls if no stream gets through.

The listener relies on a stream only while data flows: the coordinator sends the current event at
once, and then some bytes at least every 15 s (docs/internals/protocol.md). If a proxy buffers the
stream, cuts off long answers or does not know the route, the data does not arrive in time. Then the
listener polls for a minute before it tries the stream again. A stream that merely ends is opened
again.

Without the listener the group is slower but still correct. Each reader reports at least once in an
update interval, and the answer contains the same event.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar, cast

from lockgate.duration import spoken_s
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import NotRegistered, Unreachable, Unstreamed
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.retry import Pace, pause_s
from lockgate_http.errors import AlignmentError

log = logging.getLogger("lockgate")

SILENCE_S = 20.0  # a sign of life is due every 15 s
STREAM_AGAIN_S = 60.0
POLL_S = 20.0  # below what proxies take for a dead connection
_Event = TypeVar("_Event")


async def alive(
    events: AsyncGenerator[_Event, None], within_s: float, silence_s: float = SILENCE_S
) -> AsyncGenerator[_Event, None]:
    """Yield the events of a stream until it ends. Raises `Unstreamed` if the stream is silent for
    more than `within_s` seconds at first, or `silence_s` seconds after an event.
    """
    ended = object()
    async with aclosing(events):
        while True:
            try:
                event = await asyncio.wait_for(anext(events, ended), within_s)
            except asyncio.TimeoutError:
                raise Unstreamed(f"the event stream was silent for {spoken_s(within_s)}") from None
            if event is ended:
                return
            within_s = silence_s
            yield cast(_Event, event)


class Listener:
    """A listener that calls `tell` with each event, and `gone` if the group does not exist.

    It passes on events even if their revision is not new. If a stream is silent for more than
    `silence_s` seconds after its first event, the listener changes to long polls for a minute.
    """

    def __init__(
        self,
        client: CoordinatorClient,
        tell: Callable[[Event], None],
        gone: Callable[[], None],
        pace: Pace | None = None,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._client, self._tell, self._gone = client, tell, gone
        self._pace = pace or Pace()
        self._silence_s = silence_s
        self._revision = 0  # of the last event
        self._polls_until = self._pace.clock()

    async def listen(self) -> None:
        failures = 0
        while True:
            asked_wait_s, news = None, False
            try:
                if self._pace.clock() < self._polls_until:
                    news = self._hear(await self._client.wait(self._revision, int(POLL_S * 1000)))
                else:
                    news = await self._follow()
            except Unstreamed as error:
                log.info("%s, so the client uses long polling for the next %s", error, spoken_s(STREAM_AGAIN_S))
                self._polls_until = self._pace.clock() + STREAM_AGAIN_S
            except NotRegistered:
                self._gone()
            except AlignmentError as error:
                log.debug("no news for now: %s", error)
                asked_wait_s = error.asked_wait_s if isinstance(error, Unreachable) else None
            failures = 0 if news else failures + 1
            if not news:
                await self._pace.sleep(pause_s(failures, self._pace.chance(), asked_wait_s))

    async def _follow(self) -> bool:
        """Read the stream to its end, and return whether any of its events had a new revision.
        Raises `Unstreamed` if the stream falls silent.
        """
        news = False
        async with aclosing(alive(self._client.events(), self._client.timeout_s, self._silence_s)) as events:
            async for event in events:
                news |= self._hear(event)
        return news

    def _hear(self, event: Event | None) -> bool:
        if event is None:
            return False
        newer = event.revision > self._revision
        self._revision = event.revision
        self._tell(event)
        return newer
