"""The lean way of one report, by far the most frequent request: past the framework, and into the very same rules.

A body that is exactly as the protocol wants it is decoded at once into core's event. Everything else, be it a fault, a null or a number
beyond 64 bits, goes the full way through the application, which knows what to say about it. So there is one contract, and the route of the
full way is the one in the OpenAPI document.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lockgate.codec import alignment_to_json
from lockgate.errors import Refused
from lockgate.events import NAME, ReportedWatermarkEvent, SplitReport, SplitState, WatermarkAlignmentEvent
from lockgate.watermark import MAX, MIN
from lockgate_coordinator.api.errors import problem
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import StoreUnavailable

BODY_LIMIT: Final = 65_536
"""What is longer is no hurry."""

_PATH = re.compile(r"/v1/groups/([A-Za-z0-9._:-]{1,255})/sources/([A-Za-z0-9._:-]{1,255})/watermarks\Z")


class _State(msgspec.Struct):
    state: SplitState


class _States(msgspec.Struct):
    """On the wire a split's state may not be left out; in core's event it may."""

    splits: dict[str, _State]


_report = msgspec.json.Decoder(ReportedWatermarkEvent)
_states = msgspec.json.Decoder(_States)


class LeanReports:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, coordinator: Coordinator) -> None:
        self._app = app
        self._coordinator = coordinator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _PATH.match(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if path is None:
            await self._app(scope, receive, send)
            return
        first = await receive()
        event = decoded(first["body"]) if first["type"] == "http.request" and not first.get("more_body") else None
        if event is not None:
            try:
                body = _answer(await self._coordinator.report(path[1], path[2], event))
            except (Refused, StoreUnavailable) as error:
                await problem(scope["path"], error)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": _headers(len(body))})
            await send({"type": "http.response.body", "body": body})
        else:
            await self._app(scope, _again(first, receive), send)


def decoded(body: bytes) -> ReportedWatermarkEvent | None:
    """The report; None for whatever is not plainly one."""
    if len(body) > BODY_LIMIT or not body.isascii():  # msgspec skips over what is no UTF-8 in a field that nobody knows
        return None
    try:
        event = _report.decode(body)
        if event.splits:
            _states.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    plain = 0 <= event.subtask <= MAX and 1 <= event.epoch <= MAX and MIN <= event.watermark <= MAX
    plain = plain and (event.reach is None or MIN <= event.reach <= MAX) and (event.batch_id is None or 0 <= event.batch_id <= MAX)
    if event.splits:
        plain = plain and all(NAME.match(name) and _plain(split) for name, split in event.splits.items())
    return event if plain else None


def _plain(split: SplitReport) -> bool:
    return (
        MIN <= split.watermark <= MAX
        and (split.position is None or MIN <= split.position <= MAX)
        and (split.end is None or MIN <= split.end <= MAX)
        and (split.rows is None or 0 <= split.rows <= MAX)
    )


@lru_cache(maxsize=1_024)
def _answer(event: WatermarkAlignmentEvent) -> bytes:
    return msgspec.json.encode(alignment_to_json(event))


@lru_cache(maxsize=1_024)
def _headers(length: int) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]


def _again(first: Message, receive: Receive) -> Receive:
    """The messages of the request from the first one on."""
    pending = [first]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again
