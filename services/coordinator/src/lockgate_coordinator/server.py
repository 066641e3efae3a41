"""Running the application: a socket of its own, a line that says where it listens, an end that
waits for nobody.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from lockgate_coordinator.app import create_app
from lockgate_coordinator.intake import Intake
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Store
from lockgate_coordinator.telemetry import traces
from lockgate_coordinator.tls import Tls

log = logging.getLogger("lockgate")

GRACE_S = 3
"""How long requests under way may take after the signal to end."""

KEEP_ALIVE_S = 75
"""How long a silent connection is kept: longer than readers are silent, so that they do not send
into one that is just being closed.
"""


SEND_BUFFER = 131_072
"""Bytes that the system keeps for one connection, or twice that: left alone it goes up to some MB,
for each reader that is stuck.
"""

STUCK_MS = 60_000
"""How long a connection may take nothing of what is sent before the system ends it."""


class ListenError(Exception):
    """Nobody can listen there: the port is taken, or the address is not this machine's."""


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Runs `serve(…)` to its end, on uvloop where there is one."""
    if sys.platform == "win32":
        asyncio.run(serving)
    else:
        import uvloop

        uvloop.run(serving)


async def serve(host: str, port: int, store: Store, settings: Settings = Settings(), tls: Tls | None = None) -> None:  # noqa: B008 – frozen
    """Serves until SIGTERM or SIGINT, and returns then.

    Raises `StoreUnavailable` if the store does not answer at the start, `InvalidTokens`,
    `InvalidTls`, and `ListenError`.
    """
    _take_descriptors()
    _collect_seldom()
    app = create_app(store, settings, spans=traces.provider(os.environ))
    context = None if tls is None else tls.context()
    listening = listen(host, port)
    try:
        await store.ping()
        await _Server(_config(app, context)).serve(sockets=[listening])
    finally:
        listening.close()


def _take_descriptors() -> None:
    """As many as the system lets this process have: each subscriber takes one, and shells begin
    with 1,024.
    """
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # a system that says there is no limit, and has one
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _collect_seldom() -> None:
    """A large group is hundreds of thousands of objects without a cycle: looking through them takes
    0.1 s, for nothing.
    """
    gc.collect()
    gc.freeze()  # what was imported stays for good
    gc.set_threshold(50_000, 20, 50)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(
            family, kind, protocol
        )  # with its protocol named asyncio sets TCP_NODELAY: answers leave 40 ms earlier
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Both are inherited by what is accepted: what the system keeps for a reader that does not
        # read, and how long it believes in it.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
        listening.bind(address)
        listening.listen(2048)
        return listening
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def _config(app: Any, context: ssl.SSLContext | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=Intake,
        ws="none",
        log_config=None,  # as all that this process logs
        access_log=False,
        proxy_headers=False,  # nobody asks where a request came from
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    config.load()
    config.ssl = context
    return config


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        scheme = "https" if self.config.ssl else "http"
        for listening in sockets or []:
            host, port, *_ = listening.getsockname()
            log.info("lockgate listens on %s://%s:%d", scheme, f"[{host}]" if ":" in host else host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Long polls and event streams end first, or the server would wait for them."""
        app: Any = self.config.app
        app.state.coordinator.end_waiting()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A service that was told to end and did so has not failed: uvicorn would raise the signal
        again, for an exit code of -15.
        """
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
