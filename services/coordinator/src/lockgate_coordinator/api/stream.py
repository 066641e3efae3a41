"""Server-Sent Events: a response that goes on for as long as its reader wants, the group exists and the service runs.

A reader that does not keep up is never waited for. The server's buffer takes 64 KiB for it, then `send` does not return; meanwhile
nothing is queued, and when it returns the newest event is sent. One that takes nothing at all for STUCK_S is hung up on.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

from fastapi import Response
from starlette.types import Receive, Scope, Send

from lockgate.codec import alignment_to_json
from lockgate.events import WatermarkAlignmentEvent
from lockgate_coordinator.api.parts import json_bytes

STUCK_S = 60.0
HEARTBEAT = b": nothing new\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would collect events until its buffer is full
]


@lru_cache(maxsize=1_024)
def frame(event: WatermarkAlignmentEvent) -> bytes:
    """One event as it goes over the wire; the same to all who follow the group."""
    return b"event: alignment\nid: %d\ndata: %b\n\n" % (event.revision, json_bytes(alignment_to_json(event)))


class EventStream(Response):
    """`events`: what to send, None for a heartbeat. The stream ends where they end."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[WatermarkAlignmentEvent | None]) -> None:
        super().__init__()
        self._events = events
        self._sending_since: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        tasks = [asyncio.create_task(self._send_all(send)), asyncio.create_task(_until_gone(receive))]
        try:
            done: set[asyncio.Task[None]] = set()
            while not done and not self._stuck():
                done, _ = await asyncio.wait(tasks, timeout=STUCK_S / 4, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        message: dict[str, Any] = {"type": "http.response.body", "more_body": True}
        async for event in self._events:
            self._sending_since = clock()
            await send({**message, "body": HEARTBEAT if event is None else frame(event)})
            self._sending_since = None
        await send({"type": "http.response.body", "body": b""})

    def _stuck(self) -> bool:
        since = self._sending_since
        return since is not None and asyncio.get_running_loop().time() - since > STUCK_S


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
