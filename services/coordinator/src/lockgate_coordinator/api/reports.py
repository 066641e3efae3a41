"""Reports: of one reader, of many at once, and of executors in the middle of a batch."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lockgate.wire.codec import alignment_to_json, progress_from_json, report_from_json, reports_from_json
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Body, GroupName, SourceName, TheCoordinator
from lockgate_coordinator.api.problems import described, judged
from lockgate_coordinator.telemetry import requests

router = APIRouter(prefix="/v1/groups/{group}", tags=["reports"])

READERS = ("unknown-group", "unknown-source", "unknown-reader", "stale-epoch")
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
    items = reports_from_json(body)
    event, rejected = await coordinator.report_all(group, items)
    request.scope[requests.JUDGED] = judged(len(items), rejected)
    refusals = [{"index": index, **described(error)} for index, error in rejected]
    return JSONResponse({"alignment": alignment_to_json(event), "rejected": refusals})
