"""How much one connection may send before its request is complete, and for how long.

uvicorn keeps a request's head however long it gets, and waits for the end of a request for ever.
One connection that never ends its headers could take all memory, and a thousand silent ones all
file descriptors. The limit on bodies is in `api.parts`.
"""

import json
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_LIMIT = 65_536
"""Bytes of a request's line and headers that are kept before their end has come."""

SLOW_S = 60.0
"""How often a connection is checked. A connection is closed if it has sent nothing until the first
check, or if two checks in a row find it in the same request.
"""

_TOO_LONG = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class Intake(HttpToolsProtocol):
    """uvicorn's protocol with both limits. A request that is complete is under neither, however
    long its answer takes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head = 0
        self._requests = 0
        self._unfinished: int | None = None
        self._timer: TimerHandle | None = None

    # uvicorn declares the base class's type as well
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(SLOW_S, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        # after the last piece of a body headers may follow again: the trailers of a chunked body
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head = True, 0
        self._requests += 1
        super().on_message_complete()

    def _check(self) -> None:
        """Closes a connection that is silent or too slow. Between two requests uvicorn's own
        keep-alive timer runs.
        """
        unfinished = self._requests if not self._in_head or self._head else None
        silent = self._requests == 0 and unfinished is None
        if silent or (unfinished is not None and unfinished == self._unfinished):
            self.transport.close()
            return
        self._unfinished = unfinished
        self._timer = self.loop.call_later(SLOW_S, self._check)

    def _refuse(self) -> None:
        """Answers 431, unless another answer is under way, and closes the connection."""
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
