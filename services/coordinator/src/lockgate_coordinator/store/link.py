"""One connection to a Redis that is kept and spoken to directly: a command costs less than half of
what it costs through redis-py.

redis-py connects, which is where TLS, users, databases and Sentinels are; then the link takes its
transport over. Commands are written one behind the other and answered in that order. The link is
for what goes well: what was answered by an error, or not at all since the connection broke, is to
be asked again through redis-py, which knows what each of them means.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import hiredis

_NOT_YET: Final = object()


class AskAgain(Exception):
    """Through redis-py. Redis may have taken the command, or not."""


class Link(asyncio.Protocol):
    """Over the transport of a connection that nobody else uses. An answer may take `timeout_s`
    seconds; `left` is called at the end.
    """

    def __init__(self, transport: asyncio.Transport, timeout_s: float, left: Callable[[], None]) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._left = left
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(encoding="utf-8", notEnoughData=_NOT_YET)
        self._asked = deque[tuple[asyncio.Future[Any], asyncio.TimerHandle]]()
        self._why: Exception = AskAgain()
        self._closed = self._loop.create_future()
        self._before = transport.get_protocol()
        self.ended = False
        transport.set_protocol(self)

    @property
    def waiting(self) -> int:
        """How many commands are not answered yet."""
        return len(self._asked)

    def ask(self, words: tuple[Any, ...]) -> "asyncio.Future[Any]":
        """The answer to one command. Its future raises `AskAgain` and `TimeoutError`."""
        self._transport.write(hiredis.pack_command(words))
        future = self._loop.create_future()
        self._asked.append((future, self._loop.call_later(self._timeout_s, self._late)))
        return future

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (answer := self._reader.gets()) is not _NOT_YET:
            if not self._asked:  # nobody's: from here on each answer would be another one's
                self.end()
                return
            future, timer = self._asked.popleft()
            timer.cancel()
            if isinstance(answer, hiredis.HiredisError):
                self._refused(future, str(answer))
            elif not future.done():  # whoever asked may have gone away
                future.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        for future, timer in self._asked:
            timer.cancel()
            if not future.done():
                future.set_exception(self._why)
        self._asked.clear()
        self._before.connection_lost(exc)  # for whose owner the transport is still its own
        self._left()
        self._closed.set_result(None)

    async def close(self) -> None:
        self.end()
        await self._closed

    def end(self) -> None:
        """Whoever waits for an answer is told."""
        self.ended = True
        self._transport.abort()

    def _refused(self, future: "asyncio.Future[Any]", said: str) -> None:
        if not future.done():
            future.set_exception(AskAgain())
        # it is no master any more, so who the new one is has to be found out
        if said.startswith("READONLY"):
            self.end()

    def _late(self) -> None:
        self._why = TimeoutError()
        self.end()
