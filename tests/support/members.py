"""Members of a group for tests: real ones, of a real coordinator, with a transport that notes each
request.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from lockgate.wire.events import CatchUp
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus

MINUTE = 60_000
UNHURRIED = "1 minute"
"""A call's timeout where none is tested: machines pause for longer than the default."""

STRICT = {"max_drift_ms": MINUTE, "catch_up": "strict", "update_interval_ms": 60_000, "lease_ms": 60_000}


class Requests(httpx.AsyncBaseTransport):
    """The real transport, with a list of the requests. `after` is called before the caller gets the
    answer. The listener's requests are in `listened`; `streams=False` answers them as a proxy that
    knows no streams.
    """

    def __init__(self, after: Callable[[httpx.Request], None] = lambda _: None, streams: bool = True) -> None:
        self._http = httpx.AsyncHTTPTransport()
        self._streams = streams
        self.after = after
        self.sent: list[str] = []
        self.listened: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if "/alignment" in request.url.path:
            self.listened.append(request.url.path.rpartition("/")[2])
            refused = not self._streams and "wait_ms" not in str(request.url)
            # With a stream of its own: one without counts as read already, which no answer from a
            # socket is.
            return (
                httpx.Response(405, stream=httpx.ByteStream(b""))
                if refused
                else await self._http.handle_async_request(request)
            )
        self.sent.append(f"{request.method} {request.url.path.rpartition('/')[2]}")
        answer = await self._http.handle_async_request(request)
        body = await answer.aread()
        await asyncio.to_thread(self.after, request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))

    async def aclose(self) -> None:
        await self._http.aclose()


def create(url: str, group: str, **config: Any) -> None:
    httpx.put(f"{url}/v1/groups/{group}", json={**STRICT, **config}, timeout=60).raise_for_status()


def pause(url: str, group: str, source: str = "orders") -> None:
    httpx.put(f"{url}/v1/groups/{group}/sources/{source}/pause", json={}, timeout=60).raise_for_status()


def inspect(url: str, group: str, source: str = "orders") -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/v1/groups/{group}/sources/{source}", timeout=60).raise_for_status().json()
    return found


def reported(url: str, group: str, source: str = "orders") -> int:
    """The watermark that its reader has reported; -1 while it is not there."""
    answer = httpx.get(f"{url}/v1/groups/{group}/sources/{source}", timeout=60)
    return int(answer.json()["readers"][0]["watermark"]) if answer.status_code == 200 else -1


def state(url: str, group: str, source: str = "orders") -> str:
    return str(inspect(url, group, source)["readers"][0]["state"])


def membership(
    url: str, group: str, source: str = "orders", session: GroupSession | None = None, **more: Any
) -> Membership:
    who = {"owner": f"query of {source}", "run": "1", **{key: more.pop(key) for key in ("owner", "run") if key in more}}
    means = {key: more.pop(key) for key in ("transport", "now") if key in more}
    theirs = {
        key: more.pop(key)
        for key in ("timeout", "catch_up", "on_outage", "hold_for", "max_batch", "park")
        if key in more
    }
    coordinator = Coordinator(url, group=group, **{"timeout": UNHURRIED, **theirs})
    if session is None:
        session = GroupSession(coordinator, **means)
    return Membership(session, coordinator, agreement(coordinator, **more), source, **who)


def agreement(coordinator: Coordinator, max_drift: str | None = None, disorder: str = "0 seconds") -> Agreement:
    """What a reader wants of its group; five minutes of drift where it does not care."""
    return Agreement(
        group=coordinator.group,
        max_drift=milliseconds("max_drift", max_drift or 5 * MINUTE),
        chose_drift=max_drift is not None,
        disorder=milliseconds("disorder", disorder),
        catch_up=CatchUp(coordinator.catch_up),
    )


@contextmanager
def member(*args: Any, **more: Any) -> Iterator[Membership]:
    """A `membership` that is closed in the end."""
    made = membership(*args, **more)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def process(url: str, group: str, *sources: str, **means: Any) -> Iterator[list[Membership]]:
    """Queries of one process: they share a session, which is not that of the test's own process.
    `means`: transport, now, timeout.
    """
    session = GroupSession(Coordinator(url, group=group, timeout=means.pop("timeout", UNHURRIED)), **means)
    session.users = len(sources)
    with ExitStack() as stack:
        yield [stack.enter_context(member(url, group, source, session)) for source in sources]


def at(watermark: int, reach: int | None = None) -> dict[int, SourceStatus]:
    return {0: SourceStatus(watermark, reach)}
