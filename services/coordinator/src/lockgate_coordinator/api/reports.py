"""Reports: of one reader, of many at once, and of executors in the middle of a batch."""

import json

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lockgate.wire.codec import alignment_to_json, progress_in_steps, report_in_steps, reports_in_steps
from lockgate_coordinator.api.bodies import ReportBody, TheTurn
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import GroupName, SourceName, TheCoordinator
from lockgate_coordinator.api.problems import judged, rejections
from lockgate_coordinator.telemetry import requests

router = APIRouter(prefix="/v1/groups/{group}", tags=["reports"])

READERS = ("limit-reached", "unknown-group", "unknown-source", "unknown-reader", "stale-epoch")
EVENT: Responses = {200: answer("The group's event after this report", "WatermarkAlignmentEvent")}
JUDGED: Responses = {200: answer("The group's event, and the rejected reports", "ReportsAnswer")}


@router.post("/sources/{source}/watermarks", **route(*READERS, body="ReportedWatermarkEvent", answers=EVENT))
async def report(
    group: GroupName, source: SourceName, body: ReportBody, coordinator: TheCoordinator, in_turn: TheTurn
) -> Response:
    """Report a reader's watermark and renew its lease. The answer is the group's event after this
    report.
    """
    event = await in_turn.work(report_in_steps(body))
    return JSONResponse(alignment_to_json(await coordinator.report(group, source, event)))


@router.post("/sources/{source}/progress", **route(*READERS, body="ProgressEvent", answers=EVENT))
async def progress(
    group: GroupName, source: SourceName, body: ReportBody, coordinator: TheCoordinator, in_turn: TheTurn
) -> Response:
    """Report a task's progress within a batch. This renews the reader's lease."""
    event = await in_turn.work(progress_in_steps(body))
    return JSONResponse(alignment_to_json(await coordinator.progress(group, source, event)))


@router.post("/watermarks", **route("unknown-group", body="Reports", answers=JUDGED))
async def report_all(
    request: Request, group: GroupName, body: ReportBody, coordinator: TheCoordinator, in_turn: TheTurn
) -> Response:
    """Send up to 10,000 reports. Each is accepted or rejected separately; `rejected` lists the
    rejected ones by index.
    """
    items = await in_turn.work(reports_in_steps(body))
    event, rejected = await coordinator.report_all(group, items)
    request.scope[requests.JUDGED] = judged(len(items), rejected)
    texts = json.dumps(alignment_to_json(event)).encode(), await in_turn.work(rejections(rejected))
    return Response(b'{"alignment":%b,"rejected":%b}' % texts, media_type="application/json")
