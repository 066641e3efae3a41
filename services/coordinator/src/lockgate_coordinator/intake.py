"""What one connection may send, and for how long; and answers that leave in one piece.

uvicorn keeps a request's head however long it gets, and waits for the end of a request for ever. So
one connection that never comes to the end of its headers would take all memory, and a thousand that
send nothing all descriptors. Bodies are `api.parts`' matter.

uvicorn also takes an answer apart: each header is looked through, and head and body are written by
themselves, with a system call each. That is a third of what a report costs. An answer that is there
as a whole, under the head that all of its kind have, is written at once.
"""

import json
from asyncio import TimerHandle, Transport
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_LIMIT = 65_536
"""Bytes of a request's line and headers that are kept before their end has come."""

SLOW_S = 60.0
"""How often a connection is looked at. One that has asked nothing until then is closed, and one
that is twice found in the same request.
"""

WHOLE: Final = "lockgate.whole"
"""The name, in the `extensions` of ASGI's scope, of `Intake.answer_whole`."""

_TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class Intake(HttpToolsProtocol):
    """uvicorn's protocol with both bounds. A request that has come in whole is bounded by neither,
    however long its answer takes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head = 0
        self._requests = 0
        self._unfinished: int | None = None
        self._timer: TimerHandle | None = None
        self._extensions = {WHOLE: self.answer_whole}
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._start = b""

    # as uvicorn has it
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(SLOW_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        # it holds a method of ours, so us: the collector, which comes seldom, would have to find
        # that
        self._extensions.clear()

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        super().on_headers_complete()
        # one of our own
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def on_body(self, body: bytes) -> None:
        # what comes after the last piece of a body is headers again: the trailers of chunks
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head = True, 0
        self._requests += 1
        super().on_message_complete()

    def answer_whole(self, send: Callable[..., Awaitable[None]], body: bytes) -> bool:
        """Writes the answer with status 200 and this JSON. Does nothing, and says so by False,
        where it has to be sent as any other:

        somebody stands between (`send` is not uvicorn's own) and wants to see it, or the connection
        is about to end, or is stuck.
        """
        cycle = self.cycle
        if send != cycle.send or cycle.disconnected or not cycle.keep_alive or self.flow.write_paused:
            return False
        # uvicorn makes them anew each second, for the date
        if self._headers is not cycle.default_headers:
            self._headers = cycle.default_headers
            lines = b"".join(b"%b: %b\r\n" % header for header in self._headers)
            self._start = b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: " % lines
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"%b%d\r\n\r\n%b" % (self._start, len(body), body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def _look(self) -> None:
        """Between requests uvicorn's own keep-alive runs."""
        unfinished = self._requests if not self._in_head or self._head else None
        silent = self._requests == 0 and unfinished is None
        if silent or (unfinished is not None and unfinished == self._unfinished):
            self.transport.close()
            return
        self._unfinished = unfinished
        self._timer = self.loop.call_later(SLOW_S, self._look)

    def _refuse(self) -> None:
        """Says so, unless another answer is under way, and ends the connection."""
        if self.cycle is None or self.cycle.response_complete:
            problem = {
                "type": "about:blank",
                "title": _TOO_LONG.phrase,
                "status": _TOO_LONG.value,
                "detail": f"the head of the request is over {HEAD_LIMIT} bytes: send fewer and shorter headers",
            }
            body = json.dumps(problem).encode()
            head = (
                f"HTTP/1.1 {_TOO_LONG.value} {_TOO_LONG.phrase}\r\nconnection: close\r\ncontent-type: "
                "application/problem+json\r\n"
            )
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
