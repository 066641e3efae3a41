"""The routes for the alignment events of a group: the current one, a long poll, and a stream."""

import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query, Response

from lockgate.group.commands import BEFORE_ALL_REVISIONS
from lockgate.watermark import MAX
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Digits, GroupName, TheCoordinator
from lockgate_coordinator.api.schemas import ref
from lockgate_coordinator.api.stream import EventStream, group_frames

router = APIRouter(prefix="/v1/groups/{group}/alignment", tags=["alignment"])

EVENTS = {
    "description": "Server-Sent Events, each a WatermarkAlignmentEvent",
    "content": {
        "text/event-stream": {"schema": ref("ServerSentEvent")}
    },  # before OpenAPI 3.2 the schema is that of one event
}
ANSWERS: Responses = {
    200: answer("The event", "WatermarkAlignmentEvent"),
    204: answer("No revision above `after` appeared within `wait_ms`"),
}


@router.get("", **route("unknown-group", answers=ANSWERS))
async def current(
    group: GroupName,
    coordinator: TheCoordinator,
    after: Annotated[int | None, Query(ge=0, le=MAX), Digits] = None,
    wait_ms: Annotated[int, Query(ge=0, le=60_000), Digits] = 0,
) -> Response:
    """Return the group's current event. With `after`, wait until its revision is higher, or return
    204 after `wait_ms`.
    """
    event = (await coordinator.refresh(group)).event if after is None else await coordinator.wait(group, after, wait_ms)
    if event is None:
        return Response(status_code=204)
    return Response(msgspec.json.encode(event), media_type="application/json")


@router.get("/events", response_class=Response, **route("unknown-group", answers={200: EVENTS}))
async def events(
    group: GroupName,
    coordinator: TheCoordinator,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Stream the group's events as Server-Sent Events. The first is the current event, unless
    `Last-Event-ID` names it. A comment is sent at least every 15 s.
    """
    return EventStream(group_frames(await coordinator.follow(group, _revision(last_event_id))))


def _revision(last_event_id: str | None) -> int:
    """Return the revision in a `Last-Event-ID`. For a missing or malformed ID, return a revision
    below all others, which makes the stream begin with the current event.
    """
    known = re.fullmatch("[0-9]{1,19}", last_event_id or "")
    return int(known[0]) if known else BEFORE_ALL_REVISIONS
