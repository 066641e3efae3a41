"""Access in the virtual world: the real guard and keyring in front of each coordinator, and the
real credentials of each client.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from lockgate_coordinator.access.denials import Unauthorized
from lockgate_coordinator.access.guard import Guard
from lockgate_coordinator.access.keyring import Keyring
from lockgate_http.calls.credentials import Access, ShownCredentials
from support.rotated import Tokens

if TYPE_CHECKING:
    from starlette.types import ASGIApp

T = TypeVar("T")
Headers = Mapping[str, str]

_STREAMS = 100


def shown(tokens: Tokens) -> ShownCredentials:
    """Return the credentials of a process that starts now."""
    return ShownCredentials(Access("http://virtual", token_file=str(tokens.of_clients)))


class Door:
    """The guard of one run of a coordinator."""

    def __init__(self, tokens: Tokens, now_s: Callable[[], float]) -> None:
        self._guard = Guard(_serve, Keyring(tokens.of_coordinators, "", now_s), None, _STREAMS, _refuse)

    async def let(self, headers: Headers, what: Callable[[], Awaitable[T]]) -> T:
        """Return the answer of a call. Raises `Unauthorized`."""
        found = list[T]()

        async def serve() -> None:
            found.append(await what())

        await self._pass("POST", "watermarks", headers, serve)
        return found[0]

    async def follow(self, headers: Headers, what: Callable[[], Awaitable[Any]]) -> Any:
        """Return a stream that ends with its token. Raises `Unauthorized`."""
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def serve() -> None:
            opened.set_result(await what())
            await asyncio.Event().wait()

        served = asyncio.ensure_future(self._pass("GET", "alignment/events", headers, serve))
        await asyncio.wait((served, opened), return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            await served
        return _until(served, opened.result())

    async def _pass(self, method: str, path: str, headers: Headers, serve: Callable[[], Awaitable[None]]) -> None:
        shown = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http",
            "method": method,
            "path": f"/v1/groups/fire/{path}",
            "query_string": b"",
            "serve": serve,
        }
        await self._guard({**scope, "headers": shown}, None, None)  # type: ignore[arg-type]  # nobody uses them


async def presented(credentials: ShownCredentials, call: Callable[[Headers], Awaitable[T]]) -> T:
    """Return the answer with the newest token that the coordinator accepts, as `Connection.open`
    does. Raises `Unauthorized`.
    """
    first = credentials.headers()
    try:
        return await call(first)
    except Unauthorized:
        newest, before = credentials.headers(), credentials.headers_before()
        if newest == first and not before:
            raise
    if before and before != first:
        with suppress(Unauthorized):
            return await call(before)
    credentials.forget_before()
    return await call(newest)


async def _until(served: "asyncio.Task[None]", stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    try:
        async for each in stream:
            if served.done():
                return
            yield each
    finally:
        served.cancel()
        await stream.aclose()


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    await scope["serve"]()


def _refuse(path: str, error: Exception) -> "ASGIApp":
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        raise error

    return refuse
