"""What the group has to tell, as soon as it has: Server-Sent Events, or long polls where a stream
does not come through.

A stream is believed only while it shows that it flows: the event that holds now comes at once, and
afterwards something at least every 15 s (docs/protocol.md). A proxy that collects what it passes
on, that cuts long answers, or that knows no such route, shows in one of the two; then the group is
asked by long polls for a minute, and the stream is tried again. A stream that merely ends is opened
anew.

Nothing depends on it but speed: whoever takes part reports at least once in an update interval and
is answered with the same event.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_spark.errors import AlignmentError
from lockgate_spark.group.answers import NotRegistered, Unreachable, Unstreamed
from lockgate_spark.group.client import CoordinatorClient
from lockgate_spark.group.retry import Pace, pause_s

log = logging.getLogger("lockgate")

SILENCE_S = 20.0  # a sign of life is due every 15 s
STREAM_AGAIN_S = 60.0
POLL_S = 20.0  # below what proxies take for a dead connection


class Listener:
    """`tell` is given each event, old ones too; `gone` is called when the group is not there.
    `silence_s`: for how long a stream may be still, after its first event.
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
        self._revision = 0  # the newest that was heard
        self._polls_until = self._pace.clock()

    async def listen(self) -> None:
        """Until it is cancelled."""
        failures = 0
        while True:
            asked_wait_s, news = None, False
            try:
                news = await (self._ask() if self._pace.clock() < self._polls_until else self._follow())
            except Unstreamed as error:
                log.info("%s; the group is asked by long polls for the next %g s", error, STREAM_AGAIN_S)
                self._polls_until = self._pace.clock() + STREAM_AGAIN_S
            except NotRegistered:
                self._gone()
            except AlignmentError as error:
                log.debug("no news for now: %s", error)
                asked_wait_s = error.asked_wait_s if isinstance(error, Unreachable) else None
            failures = 0 if news else failures + 1
            if not news:
                await self._pace.sleep(pause_s(failures, self._pace.chance(), asked_wait_s))

    async def _ask(self) -> bool:
        return self._hear(await self._client.wait(self._revision, int(POLL_S * 1000)))

    async def _follow(self) -> bool:
        """The stream, until the other side ends it. Whether it brought anything new."""
        within_s, news, ended = self._client.timeout_s, False, object()
        async with aclosing(self._client.events()) as events:
            while True:
                try:
                    event = await asyncio.wait_for(anext(events, ended), within_s)
                except asyncio.TimeoutError:
                    raise Unstreamed(f"the stream of events was still for {within_s:g} s") from None
                if event is None or isinstance(event, Event):
                    news |= self._hear(event)
                    within_s = self._silence_s
                else:
                    return news

    def _hear(self, event: Event | None) -> bool:
        if event is None:
            return False
        newer = event.revision > self._revision
        self._revision = event.revision
        self._tell(event)
        return newer
