"""The current event, at once or when it changes."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from lockgate.codec import alignment_to_json
from lockgate.events import WatermarkAlignmentEvent
from lockgate_coordinator.api.parts import GroupName, TheCoordinator
from lockgate_coordinator.api.schemas import described

router = APIRouter(prefix="/v1/groups/{group}/alignment", tags=["alignment"])


@router.get("", openapi_extra=described(answer=WatermarkAlignmentEvent))
async def current(
    group: GroupName,
    coordinator: TheCoordinator,
    after: Annotated[int | None, Query(ge=0)] = None,
    wait_ms: Annotated[int, Query(ge=0, le=60_000)] = 0,
) -> Response:
    """The event; with `after` once its revision is above that, or 204 after `wait_ms`."""
    event = (await coordinator.look(group)).event if after is None else await coordinator.wait(group, after, wait_ms)
    return Response(status_code=204) if event is None else JSONResponse(alignment_to_json(event))
