"""Plays the scenario to the service and writes down what it answers.

The store's clock is an argument, and a step says when it happens: epochs, revisions, leases and
ages come out alike each time. Nothing else changes with the time, but for what a machine says about
its own network, and that is put out of the way in `_normalised`. Of an event stream the first
frames are taken, for it has no end; its heartbeats come every `BEAT_S` instead of every ten
seconds.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from lockgate_coordinator.access import under_way
from lockgate_coordinator.app import create_app
from lockgate_coordinator.service import announcer, stalls
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Loaded, MemoryStore, UnreadableGroup, open_store

from .scenario import BUSY, READER, SCENARIO, START, Step

FILE = Path(__file__).with_name("exchanges.json")
HEADERS = ("allow", "content-type", "etag", "retry-after", "www-authenticate")
"""Those that the protocol speaks of; the others are the server's own business."""
BEAT_S = 0.05
SERVICES = ("store_gone", "guarded", "full", "stopping", "damaged")
"""The fields of a step that name another service than the usual one."""


async def recorded(steps: Iterable[Step] = SCENARIO) -> list[dict[str, Any]]:
    """Each step with its answer, in the form of the file."""
    now = START
    exchanges = []
    guard = Settings(tokens=f"read={READER},report={BUSY}", rate_limit=1)
    app = create_app(MemoryStore(lambda: now), Settings())
    async with (
        _tireless(),
        _client(app) as open_to_all,
        _client(create_app(MemoryStore(lambda: now), guard, clock=lambda: now / 1000)) as guarded,
        _client(create_app(MemoryStore(lambda: now), Settings(max_subscribers=0))) as full,
        _client(create_app(open_store("redis://127.0.0.1:1/0"))) as lost,
        _client(_about_to_stop()) as stopping,
        _client(create_app(_Damaged())) as damaged,
    ):
        clients = dict(zip(SERVICES, (lost, guarded, full, stopping, damaged), strict=True))
        for step in steps:
            now = START + step.at
            if step.frames:
                exchanges.append({**_asked(step, now), **await _streamed(app, step)})
                continue
            client = next((clients[one] for one in clients if getattr(step, one)), open_to_all)
            answer = await client.request(step.method, step.path, content=_content(step), headers=dict(step.headers))
            exchanges.append({**_asked(step, now), "status": answer.status_code, **_said(answer)})
    return exchanges


def written(exchanges: list[dict[str, Any]]) -> str:
    """Return the text of the file."""
    return json.dumps(exchanges, indent=1, ensure_ascii=False) + "\n"


@asynccontextmanager
async def _tireless() -> AsyncIterator[None]:
    """The clock stands still within a step, so a pause of this process must lengthen no lease. And
    a token that reports has as many requests under way as it may.
    """
    with patch.object(stalls, "STALLED_S", 3_600.0), patch.object(under_way, "MOST_UNANSWERED", 0):
        yield


def _about_to_stop() -> Any:
    app = create_app(MemoryStore())
    app.state.coordinator.stopping = True
    return app


class _Damaged(MemoryStore):
    """No group of it can be read, as in a Redis whose records are damaged."""

    def cached(self, name: str) -> Loaded:
        raise UnreadableGroup(name, "the record of its head is missing", "Delete the group")


def _client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator")


async def _streamed(app: Any, step: Step) -> dict[str, Any]:
    """Status, headers and first frames. Straight from the application: httpx's own transport waits
    for the end of an answer.
    """
    sent, gone = asyncio.Queue[Any](), asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    headers = [(name.lower().encode(), value.encode()) for name, value in step.headers.items()]
    path, _, query = step.path.partition("?")
    scope = {"type": "http", "method": step.method, "path": path, "query_string": query.encode(), "headers": headers}
    with patch.object(announcer, "HEARTBEAT_S", BEAT_S):
        answering = asyncio.create_task(app(scope, receive, sent.put))
        start = await sent.get()
        text = ""
        while text.count("\n\n") < step.frames:
            text += (await sent.get())["body"].decode()
        gone.set()
        await answering
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return {
        "status": start["status"],
        "headers": {name: found[name] for name in HEADERS if name in found},
        "frames": _frames(text, step),
    }


def _frames(text: str, step: Step) -> list[str]:
    """Each with its end, which is an empty line."""
    return [f"{frame}\n\n" for frame in text.split("\n\n")[: step.frames]]


def _content(step: Step) -> str | None:
    if step.blanks:
        return " " * step.blanks
    return step.text if step.text is not None else None if step.body is None else json.dumps(step.body)


def _asked(step: Step, now_ms: int) -> dict[str, Any]:
    asked: dict[str, Any] = {"now_ms": now_ms, "method": step.method, "path": step.path}
    asked |= {"request_headers": dict(step.headers)} if step.headers else {}
    asked |= {service: True for service in SERVICES if getattr(step, service)}
    asked |= {} if step.body is None else {"body": step.body}
    asked |= {} if step.text is None else {"text": step.text}
    return asked | ({"blanks": step.blanks} if step.blanks else {})


def _said(answer: httpx.Response) -> dict[str, Any]:
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    return {"headers": headers, "answer": _normalised(json.loads(answer.text)) if answer.text else None}


def _normalised(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what the system says about a port where nobody listens is worded differently
    everywhere.
    """
    if answer.get("type") == "urn:lockgate:store-unavailable":
        return {**answer, "detail": answer["detail"].split(": ")[0] + ": …"}
    return answer
