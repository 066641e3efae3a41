"""No spelling of a path, a method or a query gets a request past the guard that its token may not make.

The oracle is the router itself: what it would call for a request that came through, and with which group, must be within the token's role
and groups.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from fastapi import FastAPI
from hypothesis import event, given, settings
from hypothesis import strategies as st
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from lockgate_coordinator.access.guard import Guard
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.tokens import Role
from lockgate_coordinator.api.health import router as health
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from support.tokens import FILE, SECRETS, TOKENS, Clock

APP: FastAPI = create_app(MemoryStore())
NEEDS = {
    "listed": Role.READ,
    "one": Role.READ,
    "source": Role.READ,
    "current": Role.READ,
    "events": Role.READ,
    "openapi": Role.READ,
    "report": Role.REPORT,
    "report_all": Role.REPORT,
    "progress": Role.REPORT,
    "register": Role.REPORT,
    "leave": Role.REPORT,
}
"""By the names of the functions that the router calls; all others need admin."""

GROUPS = st.sampled_from(["orders", "orders-eu", "one", "payments", "%6Frders", "ord%65rs", "orders%2Fx", "one%0A", "..", "%2e%2e", ""])
PARTS = st.sampled_from(
    [
        "v1",
        "groups",
        "sources",
        "s",
        "readers",
        "0",
        "watermarks",
        "progress",
        "alignment",
        "events",
        "livez",
        "%2e%2e",
        "..",
        ".",
        "",
        "%2F",
        "x",
    ]
)
ENDS = st.sampled_from(
    ["", "/sources/s", "/sources/s/readers", "/sources/s/readers/0", "/sources/s/watermarks", "/sources/s/progress", "/watermarks", "/alignment", "/alignment/events", "/%2e%2e/payments", "/../payments", "%2F..%2Fpayments", "/", "//", "%0A", "%00", "/sources//watermarks"]
)
PATHS = st.one_of(
    st.builds("/v1/groups/{}{}".format, GROUPS, ENDS),
    st.builds("/v1/groups/{}{}/{}".format, GROUPS, ENDS, PARTS),
    st.lists(PARTS, max_size=9).map(lambda parts: "/" + "/".join(parts)),
    st.sampled_from(
        ["/livez", "/livez/../v1/groups", "/livez%2F..%2Fv1%2Fgroups", "/readyz%0A", "//livez", "/metrics", "/openapi.json", "/docs", "*"]
    ),
    st.text(max_size=40).map("/".__add__),
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "get", "delete"])
QUERIES = st.sampled_from(
    [
        b"",
        b"force=true",
        b"force=false",
        b"force=false&force=true",
        b"force=true&force=false",
        b"f%6Frce=true",
        b"force=%74rue",
        b"force",
        b"epoch=1",
    ]
)


class Reached:
    """Stands where the application would."""

    def __init__(self) -> None:
        self.scope: Scope | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope


def reached(method: str, path: str, query: bytes, name: str, guarded: Reached) -> bool:
    headers = [(b"authorization", f"Bearer {SECRETS[name]}".encode())] if name else []
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers, "root_path": ""}

    async def send(message: Message) -> None: ...

    async def receive() -> Message:
        raise AssertionError("the guard reads no body")

    with TemporaryDirectory() as folder:
        file = Path(folder, "tokens.toml")
        file.write_text(FILE)
        guard = Guard(guarded, Keyring(file, "", Clock()), None, lambda path, denial: Response(status_code=403))
        asyncio.run(guard(scope, receive, send))
    return guarded.scope is not None


def called(scope: Scope) -> tuple[str, str | None]:
    """The name of the function that the router would call ("" for none), and the group that it would be given."""
    for route in APP.routes:
        match, more = route.matches({**scope, "app": APP})
        if match is Match.FULL:
            return str(getattr(route, "name", "")), more.get("path_params", {}).get("group")
    return "", None


@settings(max_examples=600, deadline=None)
@given(METHODS, PATHS, QUERIES, st.sampled_from(["", *SECRETS]))
def test_nothing_gets_past_the_guard_that_its_token_may_not_do(method: str, raw: str, query: bytes, name: str) -> None:
    guarded = Reached()
    if not reached(method, unquote(raw), query, name, guarded):
        return
    assert guarded.scope is not None
    function, group = called(guarded.scope)
    event(f"reached {function or 'nothing'}")
    if function in {route.name for route in health.routes}:  # type: ignore[attr-defined]  # all routes there have names
        return
    token = next(token for token in TOKENS if token.name == name)
    forced = function == "leave" and "true" in QueryParams(query.decode()).getlist("force")
    assert token.role >= (Role.ADMIN if forced else NEEDS.get(function, Role.ADMIN))
    assert group is None or token.may_touch(group)


def test_the_oracle_knows_the_router() -> None:
    scope = {"type": "http", "method": "DELETE", "path": "/v1/groups/g/sources/s/readers/0", "headers": [], "root_path": ""}
    assert called(scope) == ("leave", "g")
