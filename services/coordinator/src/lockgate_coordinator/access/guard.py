"""The guard, which checks the token of each request before the request reaches the application.

It also runs before the routes that bypass FastAPI. Every request passes through it, so it has to be
cheap: it only looks up and compares values.
"""

from collections.abc import Callable, Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate_coordinator.access.denials import Forbidden, TooManyRequests, Unauthorized
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.rate import RateLimit
from lockgate_coordinator.access.rules import OPEN, rule_for
from lockgate_coordinator.access.tokens import Token
from lockgate_coordinator.access.under_way import UnderWay
from lockgate_coordinator.turned_away import TurnedAway

TOKEN = "lockgate.token"
"""The key under which the guard puts the request's `Token` into the ASGI scope."""

Denial = Unauthorized | Forbidden | TooManyRequests


class Guard:
    """ASGI middleware that denies each request that its token does not permit.

    Args:
        app: The application for permitted requests.
        keyring: The valid tokens.
        rate: The limit on each token's requests, or None for no limit.
        most_waiting: The maximum number of streams and long polls that a token may have open.
        answer: A function that returns the response to a denied request, given its path and the
            denial.
        public: Paths that may be read without a token.
    """

    def __init__(
        self,
        app: ASGIApp,
        keyring: Keyring,
        rate: RateLimit | None,
        most_waiting: int,
        answer: Callable[[str, Exception], ASGIApp],
        public: Collection[str] = (),
    ) -> None:
        self._app = app
        self._open = OPEN | {(method, path) for path in public for method in ("GET", "HEAD")}
        self._unknown = TurnedAway("401 for %s: %s", "401 for %d more requests in %s, the last one from %s")
        self._under_way = UnderWay(app, keyring, most_waiting, answer)
        self._keyring = keyring
        self._rate = rate
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            denial = self._denial(scope)
            if denial is not None:
                if isinstance(denial, Unauthorized):
                    self._unknown.note((scope.get("client") or ("an unknown address",))[0], str(denial))
                await self._answer(scope["path"], denial)(scope, receive, send)
            elif TOKEN in scope:
                await self._under_way.serve(scope[TOKEN], scope, receive, send)
            else:
                await self._app(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # the protocol has no WebSockets
            await send({"type": "websocket.close", "code": 1008})

    def _denial(self, scope: Scope) -> Denial | None:
        method, path = scope["method"], scope["path"]
        if (method, path) in self._open:
            return None
        token = self._token(scope)
        if not isinstance(token, Token):
            return token
        wait_s = 0 if self._rate is None else self._rate.take(token.digest)
        if self._rate is not None and wait_s:
            return TooManyRequests(token.name, self._rate.rate, wait_s)
        rule, group = rule_for(method, path, scope["query_string"])
        if token.role < rule.role:
            return Forbidden(f"this request needs a token with the role {rule.role}; {token.name!r} has {token.role}")
        if token.groups is not None and (rule.everything or (group is not None and not token.may_touch(group))):
            needed = "all groups" if group is None or rule.everything else f"the group {group!r}"
            return Forbidden(f"this request needs a token for {needed}; the token {token.name!r} is for other groups")
        scope[TOKEN] = token
        return None

    def _token(self, scope: Scope) -> Token | Unauthorized:
        authorization: bytes | None = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                if authorization is not None:
                    return Unauthorized("the request has more than one Authorization header: send one")
                authorization = value
        if authorization is None:
            return Unauthorized("the request has no token: send one in the header Authorization")
        unknown = "the Authorization header has no token that this coordinator knows"
        return self._keyring.find(authorization) or Unauthorized(unknown)
