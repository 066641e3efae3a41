"""The routes by which an operator pauses and resumes sources."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lockgate.wire.events import PauseRequest
from lockgate_coordinator.api.audit import audited, operator
from lockgate_coordinator.api.bodies import message
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import GroupName, Key, SourceName, TheCoordinator, act_of
from lockgate_coordinator.service.inspection import paused

router = APIRouter(prefix="/v1/groups/{group}/sources/{source}/pause", tags=["sources"])

PAUSED: Responses = {200: answer("The pause that is in force", "PausedSource")}


@router.put("", **route("unknown-group", "unknown-source", body="PauseRequest", answers=PAUSED))
async def pause(
    request: Request,
    group: GroupName,
    source: SourceName,
    wanted: Annotated[PauseRequest, message(PauseRequest)],
    coordinator: TheCoordinator,
    key: Key = None,
) -> Response:
    """Pause a source. Its readers read nothing new until it is resumed; they keep their leases, and
    the group waits for them. A source that is already paused keeps its first pause.
    """
    reason, headers = wanted.reason, dict[str, str]()
    with audited(request, headers, "pause", group, source=source) as changed:
        found = await coordinator.pause(group, source, operator(request), reason, act_of(key, "pause", source, reason))
        changed["reason"] = reason
    return JSONResponse({"group": group, "source": source, "paused": paused(found)}, headers=headers)


@router.delete("", status_code=204, **route("unknown-group", answers={204: answer("The source is not paused")}))
async def resume(
    request: Request,
    response: Response,
    group: GroupName,
    source: SourceName,
    coordinator: TheCoordinator,
    key: Key = None,
) -> None:
    """Resume a source. A source that is not paused stays unchanged."""
    with audited(request, response.headers, "resume", group, source=source):
        await coordinator.resume(group, source, act_of(key, "resume", source), operator(request))
