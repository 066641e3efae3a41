"""Lean routes for reports, by far the most frequent requests. They bypass FastAPI and call the same
`Coordinator`.

A body that is not plainly a report goes through FastAPI's routes (`api.reports`), which answer
every fault. So there is one contract, and FastAPI's routes are those in the OpenAPI document.
"""

import re
from functools import lru_cache

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lockgate.errors import Refused
from lockgate.wire.codec import alignment_to_json
from lockgate.wire.events import NAME, WatermarkAlignmentEvent
from lockgate_coordinator.api.bodies import is_json
from lockgate_coordinator.api.decoding import report_from_bytes, reports_from_bytes
from lockgate_coordinator.api.problems import judged, problem, rejections
from lockgate_coordinator.intake import WHOLE
from lockgate_coordinator.limits import BodyLimit
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import StoreUnavailable
from lockgate_coordinator.telemetry.requests import JUDGED

_PATH = re.compile(r"/v1/groups/([^/]+)/(?:sources/([^/]+)/)?watermarks\Z")


class LeanReports:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, coordinator: Coordinator, limit: BodyLimit, in_turn: InTurn) -> None:
        self._app = app
        self._coordinator = coordinator
        self._limit = limit
        # The application refuses longer ones at once, without waiting for the body.
        self._length_digits = len(str(limit.size))
        self._in_turn = in_turn
        self._encoded: tuple[WatermarkAlignmentEvent | None, bytes] = (None, b"")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _PATH.match(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if path is None or not all(map(NAME.match, filter(None, path.groups()))) or not self._is_plain(scope):
            await self._app(scope, receive, send)
            return
        message = await receive()
        messages = await self._all(message, receive) if message.get("more_body") else [message]
        # The client has disconnected: the first part of a body may look like a whole report.
        if messages[-1]["type"] != "http.request":
            await self._app(scope, _again(messages, receive), send)
            return
        body = message.get("body", b"") if len(messages) == 1 else b"".join(each.get("body", b"") for each in messages)
        try:
            answer = await self._answer(scope, path[1], path[2], body)
        except (Refused, StoreUnavailable) as error:
            await problem(scope["path"], error)(scope, receive, send)
            return
        if answer is None:
            await self._app(scope, _again(messages, receive), send)
            return
        whole = scope.get("extensions", {}).get(WHOLE)
        if whole is None or not whole(send, answer):
            await send({"type": "http.response.start", "status": 200, "headers": _headers(len(answer))})
            await send({"type": "http.response.body", "body": answer})

    async def _answer(self, scope: Scope, group: str, source: str | None, body: bytes) -> bytes | None:
        """None if FastAPI's route has to decode the body, or to refuse it."""
        if self._limit.has_too_many_values(body):
            return None
        if source is not None:
            event = report_from_bytes(body)
            return None if event is None else self._text(await self._coordinator.report(group, source, event))
        reports = await self._in_turn.work(reports_from_bytes(body))
        if reports is None:
            return None
        alignment, rejected = await self._coordinator.report_all(group, reports)
        scope[JUDGED] = judged(len(reports), rejected)
        return b'{"alignment":%b,"rejected":%b}' % (
            self._text(alignment),
            await self._in_turn.work(rejections(rejected)),
        )

    def _text(self, event: WatermarkAlignmentEvent) -> bytes:
        """Encode the event of a commit once for all reports that it answers."""
        encoded, text = self._encoded
        if event is not encoded:
            text = msgspec.json.encode(alignment_to_json(event))
            self._encoded = (event, text)
        return text

    def _is_plain(self, scope: Scope) -> bool:
        """Return whether the headers announce JSON of an allowed length."""
        for name, value in scope["headers"]:
            if name == b"content-length":
                if len(value) > self._length_digits:
                    return False
            elif name == b"content-type" and value != b"application/json" and not is_json(value):
                return False
        return True

    async def _all(self, first: Message, receive: Receive) -> list[Message]:
        """Return the messages of the request. Stops at the limit and at a disconnect; the
        application then finds the same fault itself.
        """
        messages, size = [first], len(first.get("body", b""))
        while messages[-1].get("more_body") and size <= self._limit.size:
            messages.append(await receive())
            size += len(messages[-1].get("body", b""))
        return messages


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Replay the messages that were received, and then receive those still to come."""
    pending = messages[::-1]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


@lru_cache(maxsize=1_024)
def _headers(length: int) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
