"""Reports: of one reader, of many at once, and of executors in the middle of a batch."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import alignment_to_json, batch_items, progress_from_json, report_from_json, report_of_batch
from lockgate.wire.events import ReportedWatermarkEvent
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Body, GroupName, SourceName, TheCoordinator
from lockgate_coordinator.api.problems import judged, rejections
from lockgate_coordinator.telemetry import requests

router = APIRouter(prefix="/v1/groups/{group}", tags=["reports"])

READ_AT_ONCE = 500
"""Reports of a batch that are read before other requests are served: some milliseconds."""

READERS = ("limit-reached", "unknown-group", "unknown-source", "unknown-reader", "stale-epoch")
EVENT: Responses = {200: answer("The event, which takes this into account", "WatermarkAlignmentEvent")}
JUDGED: Responses = {200: answer("The event, and what was rejected", "ReportsAnswer")}


@router.post("/sources/{source}/watermarks", **route(*READERS, body="ReportedWatermarkEvent", answers=EVENT))
async def report(group: GroupName, source: SourceName, body: Body, coordinator: TheCoordinator) -> Response:
    """One reader's watermark; renews its lease. The answer takes it into account."""
    return JSONResponse(alignment_to_json(await coordinator.report(group, source, report_from_json(body))))


@router.post("/sources/{source}/progress", **route(*READERS, body="ProgressEvent", answers=EVENT))
async def progress(group: GroupName, source: SourceName, body: Body, coordinator: TheCoordinator) -> Response:
    """A task's word about its splits, in the middle of a batch; renews the reader's lease."""
    return JSONResponse(alignment_to_json(await coordinator.progress(group, source, progress_from_json(body))))


@router.post("/watermarks", **route("unknown-group", body="Reports", answers=JUDGED))
async def report_all(request: Request, group: GroupName, body: Body, coordinator: TheCoordinator) -> Response:
    """Up to 10,000 reports, each judged alone; `rejected` names those that were refused."""
    items = await _read(batch_items(body))
    event, rejected = await coordinator.report_all(group, items)
    request.scope[requests.JUDGED] = judged(len(items), rejected)
    return JSONResponse({"alignment": alignment_to_json(event), "rejected": rejections(rejected)})


async def _read(items: list[object]) -> list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]:
    reports = list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]()
    for first in range(0, len(items), READ_AT_ONCE):
        if first:
            await asyncio.sleep(0)
        reports += map(report_of_batch, items[first : first + READ_AT_ONCE])
    return reports
