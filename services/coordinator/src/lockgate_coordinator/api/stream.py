"""Server-Sent Events: a response that lasts until its client leaves, the group is deleted or the
service stops.

A slow client delays no commit. The server buffers 64 KiB for it, then `send` blocks. Nothing is
queued while it blocks; afterwards the client gets only the newest event. If a client reads nothing
at all, the operating system closes its connection (see `server.listen`).
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
    """A response that sends these frames and then ends.

    Starlette's streams would be larger, and would end late for a client that has left while many
    events come.
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
    """Yield the events of a group in their wire form, and a heartbeat for each None."""
    async with aclosing(events):
        async for event in events:
            yield _group_frame(event) if isinstance(event, WatermarkAlignmentEvent) else HEARTBEAT


def frame(event: str, data: bytes, id: int | None = None) -> bytes:
    """Return one event in its wire form."""
    number = b"" if id is None else b"id: %d\n" % id
    return b"event: %b\n%bdata: %b\n\n" % (event.encode(), number, data)


@lru_cache(maxsize=1_024)
def _group_frame(event: WatermarkAlignmentEvent) -> bytes:
    """Return the frame of an event, which is the same for all streams of the group."""
    return frame("alignment", msgspec.json.encode(event), event.revision)
