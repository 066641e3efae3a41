"""The HTTP connection to the coordinator, on which every call has a deadline.

httpx limits the time of each read, not of the whole call. A server that sends one byte now and then
could block a caller for ever, and `query.stop()` with it. So requests are tasks on an event loop in
a separate thread, and the deadline cancels a task in any phase. `interrupt` cancels it at once.

A forked process inherits the object but not the thread. In that process every call raises an error
that asks for a new connection, and `close` does not touch the parent's sockets.
"""

import asyncio
import concurrent.futures
import logging
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx

from lockgate_http.calls.answers import Answer, Interrupted, NotACoordinator, Problem, Unreachable, Untrusted
from lockgate_http.calls.credentials import Access, ShownCredentials, distrust
from lockgate_http.errors import ConfigurationError

log = logging.getLogger("lockgate")

MOST_BYTES = 8 << 20  # a coordinator sends less to a reader
_END_S = 0.2  # the wait for the thread's end; a hanging name look-up may take longer, and is left
_CANCEL_AGAIN_S = 0.05

T = TypeVar("T")
C = TypeVar("C", bound="Connection")


class Connection:
    """A thread-safe connection to one coordinator.

    Calls raise `NotACoordinator` if an answer is longer than `most_bytes`. `transport` replaces
    httpx's own, for example in tests.
    """

    def __init__(
        self, access: Access, transport: httpx.AsyncBaseTransport | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        # An answer that is not compressed cannot grow when it is unpacked.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self.credentials = ShownCredentials(access)
        self.access, self.url, self._most_bytes = access, access.url, most_bytes
        try:
            self._http = httpx.AsyncClient(
                base_url=access.url,
                headers=headers,
                # Each call has a deadline of its own.
                timeout=None,  # nosec B113
                verify=self.credentials.tls,
                transport=transport,
            )
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"{access.option('url')}: {error}") from None
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._running: set[concurrent.futures.Future[Any]] = set()
        self._closed = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="lockgate-http", daemon=True)
        self._thread.start()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def call(self, task: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `task` on the connection's thread. Return its result, or raise its error.

        Raises:
            Interrupted: The call was cancelled.
            Unreachable: The connection is closed, or was opened before this process was forked.
        """
        with self._lock:  # so that `interrupt` and `close` see every task that has begun
            future = self._begin(lambda: _settled(task))
            self._running.add(future)
        found: T
        try:
            found, error = future.result()
        except concurrent.futures.CancelledError:
            raise Interrupted(f"the call to {self.url} was interrupted") from None
        finally:
            future.cancel()  # the caller's own thread may have been interrupted
            with self._lock:
                self._running.discard(future)
        if error is not None:
            raise error
        return found

    def begin(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `task` in the background until the connection is closed. Log an error if it fails."""
        with self._lock:
            self._begin(task).add_done_callback(_log_error)

    async def send(self, method: str, path: str, **request: Any) -> Answer:
        """Send one request and return its answer. Raises the errors of `open` and `read`."""
        async with self.open(method, path, **request) as answer:
            return await self.read(answer)

    @asynccontextmanager
    async def open(self, method: str, path: str, **request: Any) -> AsyncIterator[httpx.Response]:
        """Send one request, and yield its answer before the body is read.

        If a new token is refused, repeat the request with the previous token. If the token has
        changed while the request was on its way, repeat it with the new one. Raises `Unreachable`
        if no answer arrives.
        """
        try:
            own = request.pop("headers", {})
            shown = newest = self.credentials.headers()
            async with self._http.stream(method, path, headers={**own, **shown}, **request) as answer:
                before: Mapping[str, str] = {}
                if answer.status_code == 401:
                    newest, before = self.credentials.headers(), self.credentials.headers_before()
                if newest == shown and not before:
                    yield answer
                    return
            if before and before != shown:
                async with self._http.stream(method, path, headers={**own, **before}, **request) as answer:
                    if answer.status_code != 401:
                        yield answer
                        return
            self.credentials.forget_before()
            # The coordinator may have changed its tokens between the two requests.
            async with self._http.stream(method, path, headers={**own, **newest}, **request) as answer:
                yield answer
        # UnicodeError: the host's name cannot be looked up. SSLError: TLS has ended after its
        # handshake, and httpx has no error of its own for that.
        except (httpx.HTTPError, ssl.SSLError, UnicodeError) as error:
            raise self._trouble(error) from error

    async def read(self, answer: httpx.Response) -> Answer:
        """Read the body and return the answer. Raises `NotACoordinator` if the body is too long."""
        body = bytearray()
        async for part in answer.aiter_raw():
            body += part
            self.check_size(len(body))
        return Answer(answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, bytes(body))

    def check_size(self, size: int) -> None:
        """Raise `NotACoordinator` if `size` (bytes) is above the limit for an answer."""
        if size > self._most_bytes:
            raise NotACoordinator(
                f"{self.url} answered with more than {self._most_bytes} bytes; is {self.access.option('url')} right?"
            )

    def without_token(self, problem: Problem) -> Problem:
        """Return `problem` with the token masked, because a proxy might quote the token in it."""
        token = self.credentials.token
        if not token:
            return problem
        return Problem(problem.status, problem.type.replace(token, "…"), problem.detail.replace(token, "…"))

    def interrupt(self) -> None:
        """Cancel all calls in progress, but not the background tasks of `begin`."""
        with self._lock:
            for future in self._running:
                future.cancel()

    def close(self) -> None:
        """End all calls and background tasks, and close the sockets."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        ended.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._loop.stop))
        self._thread.join(_END_S)

    def _begin(self, task: Callable[[], Coroutine[Any, Any, T]]) -> "concurrent.futures.Future[T]":
        if self._closed:
            raise Unreachable(f"the connection to {self.url} is closed")
        if self._pid != os.getpid():
            raise Unreachable(
                f"the connection to {self.url} is that of process {self._pid}, which was forked; open one in "
                "this process"
            )
        return asyncio.run_coroutine_threadsafe(task(), self._loop)

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def _end(self) -> None:
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            # Before Python 3.12 asyncio.wait_for drops a cancellation that comes with its result.
            await asyncio.wait(others, timeout=_CANCEL_AGAIN_S)
        await self._http.aclose()

    def _trouble(self, error: Exception) -> Unreachable:
        if (distrusted := distrust(error, self.access)) is not None:
            return Untrusted(distrusted)
        if isinstance(error, httpx.RemoteProtocolError) and self.url.startswith("http://"):
            return Unreachable(f"{self.url} gave no answer that is HTTP; is it https://?", passing=True)
        return Unreachable(f"{self.url} gave no answer: {_why(error)}", passing=True)


def _why(error: BaseException) -> str:
    """Return the operating system's reason for an httpx error, or else the error's own text."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and not isinstance(found, ssl.SSLError) and found.errno is not None:
            named = isinstance(found, socket.gaierror)
            return str(found.strerror) if named else os.strerror(found.errno)
        found = next(iter(getattr(found, "exceptions", ())), found.__cause__ or found.__context__)
    return f"{type(error).__name__}: {error}".rstrip(": ")


async def _settled(task: Callable[[], Coroutine[Any, Any, T]]) -> tuple[Any, Exception | None]:
    """Run `task`, and return its result and its error, one of which is None.

    The error is not raised, because asyncio would log it if the caller no longer waits for it.
    """
    try:
        return await task(), None
    except Exception as error:
        return None, error


def _log_error(ended: "concurrent.futures.Future[None]") -> None:
    if not ended.cancelled() and (error := ended.exception()) is not None:
        log.error("a background task of the coordinator client failed", exc_info=error)
