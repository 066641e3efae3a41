"""Server-Sent Events: a response that lasts until its client leaves, the group is deleted or the
service ends.

No commit waits for a slow client. The server buffers 64 KiB for it, then `send` blocks. Nothing is
queued meanwhile, and afterwards the newest event is sent. The system closes the connection of a
client that takes nothing at all, as `server.listen` sets it up.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache

import msgspec
from fastapi import Response
from starlette.types import Receive, Scope, Send

from lockgate.wire.events import WatermarkAlignmentEvent

HEARTBEAT = b": nothing new\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # or nginx would keep events back until its buffer is full
]


@lru_cache(maxsize=1_024)
def frame(event: WatermarkAlignmentEvent) -> bytes:
    """Return one event in its wire form, which is the same for all streams of the group."""
    return b"event: alignment\nid: %d\ndata: %b\n\n" % (event.revision, msgspec.json.encode(event))


class EventStream(Response):
    """Sends `events`, those that are bytes as they are, and a heartbeat for each None. The stream
    ends with them.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[WatermarkAlignmentEvent | bytes | None, None]) -> None:
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
                body = HEARTBEAT if event is None else event if isinstance(event, bytes) else frame(event)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
