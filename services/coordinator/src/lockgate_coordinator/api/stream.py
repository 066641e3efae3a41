"""Server-Sent Events: responses that last until the client leaves, the group is deleted or the
service stops.

A slow client delays no commit. The server buffers 64 KiB for it, and then `send` blocks. No events
are queued meanwhile. Afterwards, the client gets only the newest one. If a client does not read at
all, the operating system closes the connection after a minute (`server.STUCK_MS`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache

import msgspec
from fastapi import Response
from starlette.types import Receive, Scope, Send

from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.service.announcer import News

HEARTBEAT = b": nothing new\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # or nginx would keep events back until its buffer is full
]


class EventStream(Response):
    """A response that sends `frames`. It ends after the last frame, or when the client leaves.

    Starlette's streaming response takes more memory, and ends late if a client leaves among events.
    """

    def __init__(self, frames: AsyncGenerator[bytes, None]) -> None:
        super().__init__()
        self._frames = frames

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
        async with aclosing(self._frames) as frames:
            async for body in frames:
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def group_frames(events: AsyncGenerator[News, None]) -> AsyncGenerator[bytes, None]:
    """Yield a frame for each event of a group, and a heartbeat for each None."""
    async with aclosing(events):
        async for event in events:
            yield _group_frame(event) if isinstance(event, WatermarkAlignmentEvent) else HEARTBEAT


def frame(event: str, data: bytes, id: int | None = None) -> bytes:
    """Return the bytes of a Server-Sent Event with this name (`event`), data and id."""
    number = b"" if id is None else b"id: %d\n" % id
    return b"event: %b\n%bdata: %b\n\n" % (event.encode(), number, data)


@lru_cache(maxsize=1_024)
def _group_frame(event: WatermarkAlignmentEvent) -> bytes:
    """Return the frame of an event. It is cached for all streams of the group."""
    return frame("alignment", msgspec.json.encode(event), event.revision)
