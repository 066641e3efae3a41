"""The routes for reports of one reader, for batches of reports, and for the progress of tasks.

Reports are by far the most frequent requests. Middleware in front of FastAPI answers them, because
FastAPI's own handling would cost more than all other work on a report. The FastAPI routes below
describe them in the OpenAPI document, and reject a request with an invalid name in its path.
"""

import re
from functools import lru_cache, partial
from typing import Annotated

import msgspec
from fastapi import APIRouter
from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json
from lockgate.wire.events import (
    BATCH_LIMIT,
    ProgressEvent,
    ReportBatch,
    ReportedWatermarkEvent,
    SourcedReport,
    WatermarkAlignmentEvent,
)
from lockgate.wire.fields import NAME_PATTERN
from lockgate_coordinator.api.bodies import at_its_size, compiled, decoded, parsed, read_body
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import GroupName, SourceName
from lockgate_coordinator.api.problems import TABLE, problem, rejections
from lockgate_coordinator.intake import WHOLE
from lockgate_coordinator.limits import BodyLimit
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.telemetry.requests import JUDGED as COUNTS

_NAME = rf"((?=[^/]{{1,255}}(?:/|\Z)){NAME_PATTERN})"
_PATH = re.compile(rf"/v1/groups/{_NAME}/(?:watermarks|sources/{_NAME}/(watermarks|progress))\Z")
_ERRORS = tuple(TABLE)


class ReportRoutes:
    """ASGI middleware that answers reports itself, and passes all other requests to `app`."""

    def __init__(self, app: ASGIApp, coordinator: Coordinator, limit: BodyLimit, in_turn: InTurn) -> None:
        self._app = app
        self._coordinator = coordinator
        self._limit = limit
        self._decoded = partial(at_its_size, in_turn)
        self._in_turn = in_turn
        self._encoded: tuple[WatermarkAlignmentEvent | None, bytes] = (None, b"")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _PATH.match(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if path is None:
            await self._app(scope, receive, send)
            return
        group, source, what = path.groups()
        try:
            body = await read_body(scope, receive, self._limit)
            if source is None:
                text = await self._report_all(scope, group, body)
            elif what == "watermarks":
                report = await self._decoded(decoded, ReportedWatermarkEvent, body)
                text = self._text(await self._coordinator.report(group, source, report))
            else:
                progress = await self._decoded(decoded, ProgressEvent, body)
                text = self._text(await self._coordinator.progress(group, source, progress))
        except _ERRORS as error:
            await problem(scope["path"], error)(scope, receive, send)
            return
        whole = scope.get("extensions", {}).get(WHOLE)
        if whole is None or not whole(send, text):
            await send({"type": "http.response.start", "status": 200, "headers": _headers(len(text))})
            await send({"type": "http.response.body", "body": text})

    async def _report_all(self, scope: Scope, group: str, body: bytes) -> bytes:
        reports = await self._decoded(reports_of, body)
        alignment, rejected = await self._coordinator.report_all(group, reports)
        scope[COUNTS] = len(reports) - len(rejected), [TABLE[type(error)].type for _, error in rejected]
        texts = self._text(alignment), await self._in_turn.work(rejections(rejected))
        return b'{"alignment":%b,"rejected":%b}' % texts

    def _text(self, event: WatermarkAlignmentEvent) -> bytes:
        """Return the JSON of an event. It is encoded once for all reports of the same turn."""
        encoded, text = self._encoded
        if event is not encoded:
            text = msgspec.json.encode(event)
            self._encoded = (event, text)
        return text


class _Batch(msgspec.Struct):
    reports: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=BATCH_LIMIT)]


_items = msgspec.json.Decoder(_Batch).decode


def reports_of(body: bytes) -> list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]:
    """Return the reports in the body of a batch, each with its source. An invalid report is
    replaced by its error. Raises `InvalidMessage` if the body is not a batch.
    """
    batch = compiled(ReportBatch, body)
    if batch is not None:
        return [(each.source, each) for each in batch.reports]
    try:
        items = _items(body).reports
    except (msgspec.DecodeError, ValueError, RecursionError):
        return [(each.source, each) for each in from_json(ReportBatch, parsed(body)).reports]
    reports = list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]()
    for item in items:
        try:
            report = decoded(SourcedReport, item)
            reports.append((report.source, report))
        except InvalidMessage as faults:
            reports.append(faults.with_traceback(None))  # which keeps all that was read
    return reports


@lru_cache(maxsize=1_024)
def _headers(length: int) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]


router = APIRouter(prefix="/v1/groups/{group}", tags=["reports"])

READERS = ("limit-reached", "unknown-group", "unknown-source", "unknown-reader", "stale-epoch")
EVENT: Responses = {200: answer("The group's event after this report", "WatermarkAlignmentEvent")}
JUDGED: Responses = {200: answer("The group's event, and the rejected reports", "ReportsAnswer")}


@router.post("/sources/{source}/watermarks", **route(*READERS, body="ReportedWatermarkEvent", answers=EVENT))
async def report(group: GroupName, source: SourceName) -> None:
    """Report a reader's watermark and renew its lease. The answer is the group's event after this
    report.
    """


@router.post("/sources/{source}/progress", **route(*READERS, body="ProgressEvent", answers=EVENT))
async def progress(group: GroupName, source: SourceName) -> None:
    """Report a task's progress within a batch. This renews the reader's lease."""


@router.post("/watermarks", **route("unknown-group", body="ReportBatch", answers=JUDGED))
async def report_all(group: GroupName) -> None:
    """Send up to 10,000 reports. Each is accepted or rejected separately; `rejected` lists the
    rejected ones by index.
    """
