"""One connection to a Redis that is used directly: a command costs less than half of what it costs
through redis-py.

redis-py connects, since it knows TLS, users, databases and Sentinels. Then the link takes over the
connection's transport. Commands are written one after the other and answered in that order. The
link handles success only: a command that was answered by an error, or lost with the connection, is
to be sent again through redis-py, which knows the meaning of each error. Commands to a Redis
Cluster go through redis-py's pool.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import hiredis

_NOT_YET: Final = object()


class AskAgain(Exception):
    """The command is to be sent again through redis-py. Redis may have executed it, or not."""


class Link(asyncio.Protocol):
    """Uses the transport of a connection that has no other user. An answer may take `timeout_s`
    seconds. `left` is called when the connection has ended.
    """

    def __init__(self, transport: asyncio.Transport, timeout_s: float, left: Callable[[], None]) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._left = left
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(encoding="utf-8", notEnoughData=_NOT_YET)
        self._asked = deque[tuple[asyncio.Future[Any], asyncio.TimerHandle]]()
        self._failure: Exception = AskAgain()
        self._closed = self._loop.create_future()
        self._before = transport.get_protocol()
        self.ended = False
        transport.set_protocol(self)

    @property
    def waiting(self) -> int:
        """How many commands are not answered yet."""
        return len(self._asked)

    def ask(self, words: tuple[Any, ...]) -> "asyncio.Future[Any]":
        """Return the answer to one command. Its future raises `AskAgain` and `TimeoutError`."""
        self._transport.write(hiredis.pack_command(words))
        future = self._loop.create_future()
        self._asked.append((future, self._loop.call_later(self._timeout_s, self._late)))
        return future

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (answer := self._reader.gets()) is not _NOT_YET:
            if not self._asked:  # an answer without a question: all later ones would be mismatched
                self.end()
                return
            future, timer = self._asked.popleft()
            timer.cancel()
            if isinstance(answer, hiredis.HiredisError):
                self._refused(future, str(answer))
            elif not future.done():  # its caller may have been cancelled
                future.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        for future, timer in self._asked:
            timer.cancel()
            if not future.done():
                future.set_exception(self._failure)
        self._asked.clear()
        self._before.connection_lost(exc)  # redis-py's own protocol, whose owner waits for this
        self._left()
        self._closed.set_result(None)

    async def close(self) -> None:
        self.end()
        await self._closed

    def end(self) -> None:
        """End the connection. All commands without an answer raise then."""
        self.ended = True
        self._transport.abort()

    def _refused(self, future: "asyncio.Future[Any]", text: str) -> None:
        if not future.done():
            future.set_exception(AskAgain())
        # The server is a replica now; only a new connection finds the new master.
        if text.startswith("READONLY"):
            self.end()

    def _late(self) -> None:
        self._failure = TimeoutError()
        self.end()
