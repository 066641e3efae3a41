"""Probes: an answer to `/livez` that costs little, and a port for probes alone.

Whoever reaches the port may ask for `/livez`, as often as it likes and without a token. So it is
answered before the routes, which would cost several times as much.

The port for probes is plain http. Where callers must show a certificate, nobody without one gets as
far as a request, and Kubernetes and most proxies have none to show for their probes. This port
answers nothing else, so it needs neither certificates nor tokens.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from lockgate_coordinator.access.rules import OPEN

LIVE = b'{"status":"live"}'


class Alive:
    """ASGI: answers `GET /livez`; all else is for `app`."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/livez" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        headers = [(b"content-length", b"%d" % len(LIVE)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": LIVE})


class ProbesAlone:
    """ASGI: what of `app` needs no token; all else is 404."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (scope["method"], scope["path"]) in OPEN:
            await self._app(scope, receive, send)
            return
        text = b"this port is for the probes GET /livez and GET /readyz alone\n"
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": text})


class ProbeServer(uvicorn.Server):
    """Serves `app`'s probes beside the service itself, which takes the signals and cancels this
    one.
    """

    def __init__(self, app: Any, listening: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                ProbesAlone(app),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
            )
        )
        self._listening = listening

    async def run_beside(self) -> None:
        """Serve until it is cancelled."""
        try:
            await self.serve(sockets=[self._listening])
        finally:
            for server in self.servers:
                server.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield
