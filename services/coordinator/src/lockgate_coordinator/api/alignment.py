"""The current event, at once or when it changes."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from lockgate.codec import alignment_to_json
from lockgate.watermark import MAX
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import GroupName, TheCoordinator, Whole

router = APIRouter(prefix="/v1/groups/{group}/alignment", tags=["alignment"])


ANSWERS: Responses = {200: answer("The event", "WatermarkAlignmentEvent"), 204: answer("Its revision is still not above `after`")}


@router.get("", **route("unknown-group", answers=ANSWERS))
async def current(
    group: GroupName,
    coordinator: TheCoordinator,
    after: Annotated[Whole | None, Query(ge=0, le=MAX)] = None,
    wait_ms: Annotated[Whole, Query(ge=0, le=60_000)] = 0,
) -> Response:
    """The event; with `after` once its revision is above that, or 204 after `wait_ms`."""
    event = (await coordinator.look(group)).event if after is None else await coordinator.wait(group, after, wait_ms)
    return Response(status_code=204) if event is None else JSONResponse(alignment_to_json(event))
