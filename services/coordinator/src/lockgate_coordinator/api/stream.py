"""Server-Sent Events: a response that goes on for as long as its reader wants, the group exists and
the service runs.

A reader that does not keep up is never waited for. The server's buffer takes 64 KiB for it, then
`send` does not return; meanwhile nothing is queued, and when it returns the newest event is sent.
One that takes nothing at all is hung up on by the system, as `server.listen` asks it to.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache

from fastapi import Response
from starlette.types import Receive, Scope, Send

from lockgate.wire.codec import alignment_to_json
from lockgate.wire.events import WatermarkAlignmentEvent

HEARTBEAT = b": nothing new\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would collect events until its buffer is full
]


@lru_cache(maxsize=1_024)
def frame(event: WatermarkAlignmentEvent) -> bytes:
    """One event as it goes over the wire; the same to all who follow the group."""
    return b"event: alignment\nid: %d\ndata: %b\n\n" % (
        event.revision,
        json.dumps(alignment_to_json(event), separators=(",", ":")).encode(),
    )


class EventStream(Response):
    """`events`: what to send, None for a heartbeat. The stream ends where they end."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[WatermarkAlignmentEvent | None, None]) -> None:
        super().__init__()
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        tasks = [asyncio.create_task(self._send_all(send)), asyncio.create_task(_until_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            async for event in events:
                body = HEARTBEAT if event is None else frame(event)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
