"""uvicorn's HTTP protocol, with limits on each request and with a faster way to send answers.

uvicorn buffers headers of any size, and waits without limit for the end of a request. One
connection that never ends its headers could use up all memory, and a thousand silent ones all file
descriptors. `api.bodies` limits the size of bodies.

uvicorn also checks every header of each answer, and makes separate system calls for the head and
the body. `answer_whole` writes both with one system call, and prepares the head once a second.
"""

import json
from asyncio import TimerHandle, Transport
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_LIMIT = 65_536
"""The maximum size of a request's first line and headers together, in bytes."""

SLOW_S = 60.0
"""The seconds between two checks of a connection. The connection is closed if it has sent nothing
before the first check, or if two consecutive checks find it within the same incomplete request.
"""

WHOLE: Final = "lockgate.whole"
"""The key of `Intake.answer_whole` in the `extensions` of the ASGI scope."""

_TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class Intake(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on the headers and the duration of a request.

    No limit applies once a request is complete, however long its answer takes.
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

    # uvicorn declares the base class's type as well
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(SLOW_S, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        # The dict holds a method of this object, and so the object itself. Without this line only
        # the garbage collector would free it, and that runs seldom.
        self._extensions.clear()

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        super().on_headers_complete()
        # ASGI's extensions are open to servers; uvicorn's type lists its own only
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def on_body(self, body: bytes) -> None:
        # after the last piece of a body headers may follow again: the trailers of a chunked body
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head = True, 0
        self._requests += 1
        super().on_message_complete()

    def answer_whole(self, send: Callable[..., Awaitable[None]], body: bytes) -> bool:
        """Write an answer with status 200 and the JSON `body`, and return True.

        Write nothing and return False if the answer has to be sent with `send`. This is the case if
        a middleware has replaced `send`, or if the connection is closed, blocked or about to close.
        """
        cycle = self.cycle
        if send != cycle.send or cycle.disconnected or not cycle.keep_alive or self.flow.write_paused:
            return False
        # uvicorn makes these headers again each second, for the date
        if self._headers is not cycle.default_headers:
            self._headers = cycle.default_headers
            lines = b"".join(b"%b: %b\r\n" % header for header in self._headers)
            self._start = b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: " % lines
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"%b%d\r\n\r\n%b" % (self._start, len(body), body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def _check(self) -> None:
        """Close the connection if it is silent or too slow. Otherwise, schedule the next check."""
        unfinished = self._requests if not self._in_head or self._head else None
        silent = self._requests == 0 and unfinished is None
        if silent or (unfinished is not None and unfinished == self._unfinished):
            self.transport.close()
            return
        self._unfinished = unfinished
        self._timer = self.loop.call_later(SLOW_S, self._check)

    def _refuse(self) -> None:
        """Answer 431, unless another answer is in progress, and close the connection."""
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
