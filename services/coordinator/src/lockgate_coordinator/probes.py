"""Health probes: a cheap answer to `/livez`, and a port that serves only probes.

Any client that reaches the port may request `/livez` as often as it likes, without a token. So it
is answered in front of the routes, which would cost several times as much.

If clients must present a certificate, Kubernetes and most proxies cannot send probes, because they
have none. So another port answers only probes, in plain http, without certificates and tokens.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from lockgate_coordinator.access.rules import OPEN

LIVE = b'{"status":"live"}'


class Alive:
    """ASGI middleware that answers `GET /livez` itself."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] != "http" or scope["path"] != "/livez" or scope["method"] != "GET":
            return self._app(scope, receive, send)
        return self._answer(send)

    async def _answer(self, send: Any) -> None:
        headers = [(b"content-length", b"%d" % len(LIVE)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": LIVE})


class ProbesAlone:
    """ASGI middleware that answers 404 to all requests except probes."""

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
    """A server on `listening` for the probes of `app`. The main server starts and cancels it."""

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
        """Serve until cancelled, and then close the listening socket."""
        try:
            await self.serve(sockets=[self._listening])
        finally:
            for server in self.servers:
                server.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers, because the main server handles all signals."""
        yield
