"""The limits on the requests that a token has in progress.

A client can make streams, long polls and large bodies last as long as it likes. Meanwhile, such a
request occupies a subscriber's slot or the memory of a body. So the number of requests is limited
for each token, and a stream or a long poll ends when its token is no longer valid.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lockgate_coordinator.access.denials import TooManyAtOnce, Unauthorized
from lockgate_coordinator.access.keyring import LOOK_EVERY_S, Keyring
from lockgate_coordinator.access.tokens import Token

LARGE = 65_536
"""The size in bytes above which a body counts as large."""

MOST_LARGE = 32
"""The maximum number of large bodies that a token may send at a time. They take at most 256 MiB."""

MOST_UNANSWERED = 2_000
"""The maximum number of other requests, except GET, that a token may have in progress. This limits
the file descriptors of a client that starts bodies and does not end them.
"""

_WAITING = ("/alignment", "/events")


class UnderWay:
    """The limits on each token's requests in progress. At most `most_waiting` of them may be
    streams or long polls. `app`, `keyring` and `answer` are as in `Guard`.
    """

    def __init__(
        self, app: ASGIApp, keyring: Keyring, most_waiting: int, answer: Callable[[str, Exception], ASGIApp]
    ) -> None:
        self._app = app
        self._keyring = keyring
        self._answer = answer
        self._waiting: dict[asyncio.Task[None], Token] = {}
        self._streams = _AtOnce(most_waiting, "streams and long polls")
        self._large = _AtOnce(MOST_LARGE, "bodies over 64 KiB")
        self._unanswered = _AtOnce(MOST_UNANSWERED, "requests")
        self._revoked: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None

    async def serve(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of `token`, or refuse it if too many of its kind are in progress."""
        app: ASGIApp = self._app
        if scope["method"] != "GET":
            kind = self._large if _is_large(scope) else self._unanswered
        elif scope["path"].endswith(_WAITING):
            kind, app = self._streams, partial(self._wait, token)
        else:
            await app(scope, receive, send)
            return
        if kind.counts[token.digest] >= kind.most:
            await self._answer(scope["path"], TooManyAtOnce(token.name, kind.most, kind.what))(scope, receive, send)
        else:
            with _counted(kind.counts, token):
                await app(scope, receive, send)

    async def _wait(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream or a long poll, and end it if its token is revoked."""
        answered = _Answered(send)
        served = asyncio.ensure_future(self._app(scope, receive, answered))
        self._waiting[served] = token
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking())
        try:
            await served
        except asyncio.CancelledError:
            if served not in self._revoked:
                served.cancel()
                raise
            if not answered.begun:
                gone = Unauthorized(f"the token {token.name!r} is no longer valid")
                await self._answer(scope["path"], gone)(scope, receive, send)
            elif not answered.whole:
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._revoked.discard(served)
            del self._waiting[served]

    async def _keep_looking(self) -> None:
        """Every `LOOK_EVERY_S` s, end waiting requests of invalid tokens, until none is left."""
        try:
            while self._waiting:
                await asyncio.sleep(LOOK_EVERY_S)
                in_force = self._keyring.in_force()
                for served, token in self._waiting.items():
                    if token not in in_force:
                        self._revoked.add(served)
                        served.cancel()
        finally:
            self._looking = None


class _AtOnce:
    """The requests of one kind (`what`) in progress. `counts` contains their number by the token's
    digest, and `most` is the limit for a token.
    """

    def __init__(self, most: int, what: str) -> None:
        self.most, self.what, self.counts = most, what, Counter[bytes]()


class _Answered:
    """A `send` that records whether the answer has begun and whether it is complete."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = self.whole = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        self.whole = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


class _counted:  # noqa: N801 – used like a function; a generator would cost each report three times as much
    """A context manager that counts a request of `token` while it is in progress."""

    __slots__ = ("_counts", "_digest")

    def __init__(self, counts: Counter[bytes], token: Token) -> None:
        self._counts, self._digest = counts, token.digest

    def __enter__(self) -> None:
        self._counts[self._digest] += 1

    def __exit__(self, *exception: object) -> None:
        self._counts[self._digest] -= 1
        if not self._counts[self._digest]:
            del self._counts[self._digest]


def _is_large(scope: Scope) -> bool:
    """Return whether the request's body is large or of unknown length."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return len(value) > 7 or (value.isdigit() and int(value) > LARGE)
        if name == b"transfer-encoding":
            return True
    return False
