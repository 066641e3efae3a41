"""Members of a group for tests: real ones, of a real coordinator, with a transport that notes what was sent."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from lockgate_spark import Alignment, Coordinator
from lockgate_spark.client import CoordinatorClient
from lockgate_spark.membership import Membership, Standing

MINUTE = 60_000
STRICT = {"max_drift_ms": MINUTE, "catch_up": "strict", "update_interval_ms": 60_000, "lease_ms": 60_000}


class Requests(httpx.AsyncBaseTransport):
    """The real transport, with a list of what was sent; `after` is called between the answer and whoever waits for it."""

    def __init__(self, after: Callable[[httpx.Request], None] = lambda _: None) -> None:
        self._http = httpx.AsyncHTTPTransport()
        self.after = after
        self.sent: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(f"{request.method} {request.url.path.rpartition('/')[2]}")
        answer = await self._http.handle_async_request(request)
        body = await answer.aread()
        await asyncio.to_thread(self.after, request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))

    async def aclose(self) -> None:
        await self._http.aclose()


def create(url: str, group: str, **config: Any) -> None:
    httpx.put(f"{url}/v1/groups/{group}", json={**STRICT, **config}).raise_for_status()


def inspect(url: str, group: str, source: str = "orders") -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/v1/groups/{group}/sources/{source}").raise_for_status().json()
    return found


def state(url: str, group: str, source: str = "orders") -> str:
    return str(inspect(url, group, source)["readers"][0]["state"])


@contextmanager
def member(url: str, group: str, source: str = "orders", **more: Any) -> Iterator[Membership]:
    who = {"owner": f"query of {source}", "run": "1", **{key: more.pop(key) for key in ("owner", "run", "now") if key in more}}
    coordinator = Coordinator(url, group=group, timeout=more.pop("timeout", "2 seconds"), catch_up=more.pop("catch_up", "joint"))
    client = CoordinatorClient(coordinator, more.pop("transport", None))
    membership = Membership(client, Alignment(coordinator=coordinator, **more), source, **who)
    try:
        yield membership
    finally:
        membership.close()


def at(watermark: int, reach: int | None = None) -> dict[int, Standing]:
    return {0: Standing(watermark, reach)}
