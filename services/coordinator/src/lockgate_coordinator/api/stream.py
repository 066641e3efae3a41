"""Server-Sent Events: a response that lasts until its client leaves, the group is deleted or the
service ends.

No commit waits for a slow client. The server buffers 64 KiB for it, then `send` blocks. Nothing is
queued meanwhile, and afterwards the newest event is sent. The system closes the connection of a
client that takes nothing at all, as `server.listen` sets it up.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache

import msgspec
from fastapi.responses import StreamingResponse

from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.service.announcer import News

HEARTBEAT = b": nothing new\n\n"
HEADERS = {
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # or nginx would keep events back until its buffer is full
}


def event_stream(frames: AsyncGenerator[bytes, None]) -> StreamingResponse:
    """Return the response that sends these frames, and ends with them."""
    return StreamingResponse(frames, headers=HEADERS, media_type="text/event-stream")


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
