"""The uvicorn server of the application: its socket, its background tasks and its shutdown."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from lockgate_coordinator.app import create_app
from lockgate_coordinator.dangers import Dangers, few_descriptors
from lockgate_coordinator.intake import Intake
from lockgate_coordinator.probes import ProbeServer
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Store
from lockgate_coordinator.telemetry import traces
from lockgate_coordinator.tls import RenewedTls, Tls

log = logging.getLogger("lockgate")

GRACE_S = 3
"""The seconds that requests in progress may take once the listener has closed."""

KEEP_ALIVE_S = 75
"""The seconds for which an idle connection is kept. Readers pause for less time between reports."""

SEND_BUFFER = 131_072
"""The size of a connection's send buffer in bytes. By default, it grows to MB for stuck clients."""

STUCK_MS = 60_000
"""How long a client may leave data unacknowledged before the system closes its connection."""

DRAIN_S = 1.5
"""The seconds for which `/readyz` fails before the listener closes, so that proxies notice it."""

LOOKS_AT_CERTIFICATES_EVERY_S = 1.0

Beside = Callable[[], Coroutine[Any, Any, None]]
"""A coroutine function that runs as a background task until the service ends."""


class ListenError(Exception):
    """The service cannot listen on the address, for example because the port is taken."""


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Run `serving`, the coroutine of `serve`, to its end. Use uvloop, except on Windows."""
    if sys.platform == "win32":
        asyncio.run(serving)
    else:
        import uvloop

        uvloop.run(serving)


async def serve(
    host: str,
    port: int,
    store: Store,
    settings: Settings = Settings(),  # noqa: B008 – frozen
    tls: Tls | None = None,
    probe_port: int | None = None,
) -> None:
    """Serve the groups in `store` until SIGTERM or SIGINT.

    If `tls` is None, serve plain http. With `probe_port`, also answer probes on that port, always
    in plain http.

    Raises:
        StoreUnavailable: The store does not answer at the start.
        InvalidTokens: A token, or the file of tokens, is invalid.
        InvalidTls: A certificate, key or authority is invalid.
        ListenError: A port is not available.
    """
    _raise_descriptor_limit()
    sys.setswitchinterval(0.001)  # how long a large body on a thread may keep the event loop waiting
    collect_garbage_seldom()
    app = create_app(store, settings, spans=traces.provider(os.environ))
    renewed = None if tls is None else RenewedTls(tls)
    with ExitStack() as sockets:
        listening = sockets.enter_context(closing(listen(host, port)))
        beside = list[Beside]()
        if probe_port is not None:
            beside.append(ProbeServer(app, sockets.enter_context(closing(listen(host, probe_port)))).run_beside)
        if renewed is not None:
            beside.append(partial(_look_at_certificates, renewed))
        await store.ping()
        dangers = Dangers(store.dangers, few_descriptors)
        await dangers.look()
        beside.append(dangers.keep_looking)
        await _Server(_config(app, renewed), beside).serve(sockets=[listening])


def _raise_descriptor_limit() -> None:
    """Raise the limit on file descriptors, which is often 1,024, as far as possible."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # some systems report no limit, and have one
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def collect_garbage_seldom() -> None:
    """Make Python collect garbage less often.

    A large group has hundreds of thousands of objects, none of them in a cycle. A full collection
    would visit all of them, which takes 0.1 s, and free nothing. Collections of the two younger
    generations visit at most 10,000 and 60,000 objects, and delay requests by about 10 ms.
    """
    gc.collect()
    gc.freeze()  # imported modules live as long as the process
    gc.set_threshold(10_000, 5, 1_000)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket. Port 0 takes a free port. Raises `ListenError` if it fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        # asyncio sets TCP_NODELAY only if the protocol is named: answers then leave 40 ms earlier.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit both: how much the system buffers for a client that does not
        # read, and when it gives the client up.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
        listening.bind(address)
        listening.listen(2048)
        return listening
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def _config(app: Any, tls: RenewedTls | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=Intake,
        ws="none",
        log_config=None,  # this process has one log format for all
        access_log=False,
        proxy_headers=False,  # anybody can write them: an address in the log is the caller's or a proxy's own
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    config.load()
    config.ssl = None if tls is None else tls.context
    return config


async def _look_at_certificates(tls: RenewedTls) -> None:
    while True:
        await asyncio.sleep(LOOKS_AT_CERTIFICATES_EVERY_S)
        tls.look()


class _Server(uvicorn.Server):
    _draining = False

    def __init__(self, config: uvicorn.Config, beside: Sequence[Beside]) -> None:
        super().__init__(config)
        self._beside = beside
        self._running = list[asyncio.Task[None]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        scheme = "https" if self.config.ssl else "http"
        for listening in sockets or []:
            host, port, *_ = listening.getsockname()
            log.info("lockgate listens on %s://%s:%d", scheme, f"[{host}]" if ":" in host else host, port)
        self._running = [asyncio.create_task(begin()) for begin in self._beside]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Make `/readyz` fail, and end the service `DRAIN_S` seconds later. A second signal, or one
        before the start, ends it at once.
        """
        if self._draining or not self.started:
            super().handle_exit(sig, frame)
            return
        self._draining = True
        app: Any = self.config.app
        app.state.coordinator.stopping = True
        ends = partial(super().handle_exit, sig, None)
        self._loop.call_soon_threadsafe(self._loop.call_later, DRAIN_S, ends)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End long polls and event streams, for which uvicorn would wait, and shut down."""
        app: Any = self.config.app
        app.state.coordinator.end_waiting()
        for running in self._running:
            running.cancel()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again, so that the exit code is 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
