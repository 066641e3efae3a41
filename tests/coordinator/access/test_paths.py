"""No spelling of a path, a method or a query gets a request past the guard that its token may not
make.

The oracle is the router itself: what it would call for a request that came through, and with which
group, must be within the token's role and groups.
"""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from hypothesis import event, given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from lockgate_coordinator.access.guard import Guard
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.tokens import Role
from lockgate_coordinator.api import (
    alignment_events,
    groups,
    journal,
    process,
    readers,
    reports,
    source_pauses,
    splits,
)
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from support.examples import examples
from support.tokens import FILE, SECRETS, TOKENS, Clock

APP: FastAPI = create_app(MemoryStore())
SUBJECTS = (groups, journal, source_pauses, readers, reports, splits, alignment_events, process)
ROUTES: list[Any] = [route for subject in SUBJECTS for route in subject.router.routes] + [
    each for each in APP.routes if isinstance(each, Route)
]
OPEN = {"livez", "readyz"}
BARE: Scope = {"type": "http", "headers": [], "query_string": b"", "root_path": ""}
READS = "listed caller journal samples one source current events openapi inspect news metrics"
REPORTS = "exchange mail report report_all progress register leave"
NEEDS = dict.fromkeys(READS.split(), Role.READ) | dict.fromkeys(REPORTS.split(), Role.REPORT)
"""By the names of the functions that the router calls; all others need admin."""

GROUPS = st.sampled_from(
    ["orders", "orders-eu", "one", "payments", "%6Frders", "ord%65rs", "orders%2Fx", "one%0A", "..", "%2e%2e", ""]
)
NAMED = "v1 groups sources s readers 0 watermarks progress alignment events splits livez %2e%2e .. . %2F x"
PARTS = st.sampled_from(["", *NAMED.split()])
BELOW = "/readers /readers/0 /watermarks /progress /splits /events /readers/0/splits /readers/0/events"
TRICKS = "/%2e%2e/payments /../payments %2F..%2Fpayments / // %0A %00 /sources//watermarks"
WHOLE = ["", "/sources/s", "/watermarks", "/alignment", "/alignment/events"]
ENDS = st.sampled_from([*WHOLE, *(f"/sources/s{path}" for path in BELOW.split()), *TRICKS.split()])
GROUPED = st.builds("/v1/groups/{}{}".format, GROUPS, ENDS)
OTHERS = "/livez /livez/../v1/groups /livez%2F..%2Fv1%2Fgroups /readyz%0A //livez /metrics /openapi.json *"
PATHS = st.one_of(
    *[GROUPED] * 3,
    st.builds("{}/{}".format, GROUPED, PARTS),
    st.lists(PARTS, max_size=9).map(lambda parts: "/" + "/".join(parts)),
    st.sampled_from(OTHERS.split()),
    st.text(max_size=40).map("/".__add__),
)
METHODS = st.sampled_from([*(["GET", "POST", "DELETE"] * 3), "PUT", "HEAD", "PATCH", "OPTIONS", "get", "delete"])
FORCED = b"force=true force=false force=false&force=true force=true&force=false f%6Frce=true force=%74rue force"
QUERIES = st.sampled_from([b"", b"epoch=1", *FORCED.split()])
LEAVING = GROUPS.map("/v1/groups/{}/sources/s/readers/0".format)
REQUESTS = st.one_of(st.tuples(METHODS, PATHS, QUERIES), st.tuples(st.just("DELETE"), LEAVING, QUERIES))


@cache
def tokens() -> Keyring:
    with TemporaryDirectory() as folder:
        file = Path(folder, "tokens.toml")
        file.write_text(FILE)
        return Keyring(file, "", Clock())


def let_through(method: str, path: str, query: bytes, name: str) -> Scope | None:
    """Return the request as it reaches what stands behind the guard; None if it does not."""
    headers = [(b"authorization", f"Bearer {SECRETS[name]}".encode())] if name else []
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers, "root_path": ""}
    seen: list[Scope] = []

    async def service(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError("the guard reads no body")

    async def send(message: Message) -> None: ...

    asyncio.run(Guard(service, tokens(), None, 9, lambda path, denial: Response(status_code=403))(scope, receive, send))
    return seen[0] if seen else None


def called(scope: Scope) -> tuple[str, str | None]:
    """Return the name of the function that the router would call ("" for none), and the group that
    it would be given.
    """
    for route in ROUTES:
        match, more = route.matches({**scope, "app": APP})
        if match is Match.FULL:
            return str(route.name), more.get("path_params", {}).get("group")
    return "", None


@examples(2_000, few=200)
@given(REQUESTS, st.sampled_from([*SECRETS, ""]))
def test_nothing_gets_past_the_guard_that_its_token_may_not_do(request_: tuple[str, str, bytes], name: str) -> None:
    method, raw, query = request_
    scope = let_through(method, unquote(raw), query, name)
    if scope is None:
        return
    function, group = called(scope)
    event(f"reached {function or 'nothing'}")
    if function in OPEN:
        return
    token = next((token for token in TOKENS if token.name == name), None)
    assert token is not None, "without a token"
    forced = function == "leave" and "true" in QueryParams(query.decode()).getlist("force")
    assert token.role >= (Role.ADMIN if forced else NEEDS.get(function, Role.ADMIN))
    assert group is None or token.may_touch(group)
    assert function != "metrics" or token.groups is None


def test_the_oracle_knows_every_route() -> None:
    paths = APP.openapi()["paths"]
    found = {
        called({**BARE, "method": method.upper(), "path": path})[0]
        for path, methods in paths.items()
        for method in methods
    }
    assert found >= NEEDS.keys() - {"openapi"} | OPEN
    assert "" not in found
    assert called({**BARE, "method": "DELETE", "path": "/v1/groups/g/sources/s/readers/0"}) == ("leave", "g")
