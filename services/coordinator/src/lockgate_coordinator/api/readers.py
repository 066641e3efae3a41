"""The routes by which readers register, leave and are evicted."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from lockgate.errors import InvalidMessage
from lockgate.watermark import MAX
from lockgate.wire.codec import to_json
from lockgate.wire.events import ReaderRegistrationEvent
from lockgate_coordinator.api.audit import audited, operator
from lockgate_coordinator.api.bodies import message
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Digits, Flag, GroupName, Key, SourceName, TheCoordinator, act_of

router = APIRouter(prefix="/v1/groups/{group}/sources/{source}/readers", tags=["readers"])

OPENED: Responses = {201: answer("The reader's new epoch, and the group's current event", "RegistrationAnswer")}
LEFT: Responses = {204: answer("The reader has left")}
Registration = Annotated[ReaderRegistrationEvent, message(ReaderRegistrationEvent)]
READERS = ("unknown-group", "unknown-source", "unknown-reader", "stale-epoch")


@router.post(
    "", status_code=201, **route("limit-reached", "reader-busy", body="ReaderRegistrationEvent", answers=OPENED)
)
async def register(
    request: Request, group: GroupName, source: SourceName, event: Registration, coordinator: TheCoordinator
) -> Response:
    """Register the reader under a new epoch, which fences all older epochs. Create the group if it
    does not exist.
    """
    if not event.takeover:
        return JSONResponse(to_json(await coordinator.register(group, source, event)), 201)
    headers = dict[str, str]()
    with audited(request, headers, "take_over", group, source=source, subtask=event.subtask, owner=event.owner):
        answer = await coordinator.register(group, source, event, operator(request))
    return JSONResponse(to_json(answer), 201, headers)


@router.delete("/{subtask}", status_code=204, **route(*READERS, answers=LEFT))
async def leave(
    request: Request,
    response: Response,
    group: GroupName,
    source: SourceName,
    subtask: Annotated[int, Path(ge=0, le=MAX), Digits],
    coordinator: TheCoordinator,
    epoch: Annotated[int | None, Query(ge=1, le=MAX), Digits] = None,
    force: Flag = False,
    key: Key = None,
) -> None:
    """Remove a reader at once. A reader that leaves the group sends its `epoch`. An operator who
    evicts a reader sends `force=true`.
    """
    act = act_of(key, source, subtask, epoch)
    if force and epoch is None:
        with audited(request, response.headers, "evict", group, source=source, subtask=subtask):
            await coordinator.evict(group, source, subtask, act, operator(request))
    elif epoch is not None and not force:
        await coordinator.leave(group, source, subtask, epoch, act)
    else:
        raise InvalidMessage(
            [("epoch", "is required unless force=true, which evicts any epoch; send one of them, not both")]
        )
