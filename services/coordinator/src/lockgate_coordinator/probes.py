"""Health probes: a cheap answer to `/livez`, and a port that serves only probes.

Any client that reaches the port may ask for `/livez`, as often as it likes and without a token. So
it is answered before the routes, which would cost several times as much.

The port for probes is plain http. If callers must show a certificate, a client without one cannot
send a request, and Kubernetes and most proxies have none for their probes. This port answers
nothing else, so it needs neither certificates nor tokens.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from lockgate_coordinator.access.rules import OPEN

LIVE = b'{"status":"live"}'


class Alive:
    """An ASGI application that answers `GET /livez` and passes all other requests to `app`."""

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
    """An ASGI application that passes to `app` what needs no token, and answers 404 to all else."""

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
    """A server of `app`'s probes beside the service. The service handles the signals and cancels
    it.
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
        """Serve until cancelled."""
        try:
            await self.serve(sockets=[self._listening])
        finally:
            for server in self.servers:
                server.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the service."""
        yield
