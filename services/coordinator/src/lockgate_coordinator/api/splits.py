"""The routes for splits: exchanges, event streams, lists, SourceEvents and inspection."""

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from lockgate.errors import InvalidMessage
from lockgate.steps import ITEMS_OF_A_STEP
from lockgate.watermark import MAX
from lockgate.wire.codec import to_json
from lockgate.wire.split_events import SourceEventToReaders, SplitAnswer, SplitExchange, SplitList
from lockgate_coordinator.api.audit import audited
from lockgate_coordinator.api.bodies import large_message, message
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Digits, GroupName, Limit, SourceName, TheCoordinator
from lockgate_coordinator.api.schemas import ref
from lockgate_coordinator.api.split_stream import frames
from lockgate_coordinator.api.stream import EventStream
from lockgate_coordinator.service.inspected_splits import inspected_splits

router = APIRouter(prefix="/v1/groups/{group}/sources/{source}", tags=["splits"])

READERS = ("unknown-group", "unknown-source", "unknown-reader", "stale-epoch")
EXCHANGED: Responses = {200: answer("Splits to add, give back and stop", "SplitAnswer")}
LISTED: Responses = {200: answer("The list was accepted", "ListedSplits")}
MAILED: Responses = {200: answer("The event was queued", "MailedEvent")}
INSPECTED: Responses = {200: answer("A page of splits", "InspectedSplits")}
NEWS: Responses = {
    200: {
        "description": "Server-Sent Events",
        "content": {"text/event-stream": {"schema": ref("SplitServerSentEvent")}},
    }
}
Subtask = Annotated[int, Path(ge=0, le=MAX), Digits]


@router.post("/readers/{subtask}/splits", **route("limit-reached", *READERS, body="SplitExchange", answers=EXCHANGED))
async def exchange(
    group: GroupName,
    source: SourceName,
    subtask: Subtask,
    event: Annotated[SplitExchange, large_message(SplitExchange)],
    coordinator: TheCoordinator,
) -> Response:
    """Exchange a reader's splits. The request contains the reader's whole state, and the answer
    says which splits the reader must add, give back and stop. This renews the leases of the reader
    and its splits.
    """
    if event.report is not None and event.report.subtask != subtask:
        raise InvalidMessage([("report.subtask", f"must be that of the exchange, {subtask}")])
    done = await coordinator.exchange(group, source, subtask, event)
    text = _text(done) if len(done.add_splits) < ITEMS_OF_A_STEP else await coordinator.in_turn.on_thread(_text, done)
    return Response(text, media_type="application/json")


def _text(answer: SplitAnswer) -> bytes:
    # a SourceEvent may have numbers beyond 64 bits, which msgspec does not write
    return json.dumps(to_json(answer), separators=(",", ":")).encode()


@router.get("/readers/{subtask}/events", response_class=Response, **route(*READERS, answers=NEWS))
async def news(
    group: GroupName,
    source: SourceName,
    subtask: Subtask,
    coordinator: TheCoordinator,
    epoch: Annotated[int, Query(ge=1, le=MAX), Digits],
) -> Response:
    """Stream the group's event and the reader's splits as Server-Sent Events. Both are sent at once
    and after each change, and a comment is sent at least every 15 s.
    """
    found = await coordinator.follow_splits(group, source, subtask, epoch)
    return EventStream(frames(found, (subtask, epoch), coordinator.streams_in_turn))


@router.get("/splits", **route("unknown-group", "unknown-source", answers=INSPECTED))
async def inspect(
    group: GroupName,
    source: SourceName,
    coordinator: TheCoordinator,
    limit: Limit = 100,
    after: Annotated[str, Query(max_length=255)] = "",
) -> Response:
    """List the source's splits by id, with the reader and the position of each."""
    turn = await coordinator.refresh(group)
    loaded = await coordinator.enumerators.loaded(group)
    found = inspected_splits(turn.group, source, loaded.sources.get(source), loaded.now_ms, limit, after)
    return JSONResponse(found)


@router.put("/splits", **route("unknown-group", "limit-reached", body="SplitList", answers=LISTED))
async def put_list(
    request: Request,
    group: GroupName,
    source: SourceName,
    found: Annotated[SplitList, large_message(SplitList)],
    coordinator: TheCoordinator,
) -> Response:
    """Set a static list of the source's splits, which replaces discovery."""
    headers = dict[str, str]()
    with audited(request, headers, "list_splits", group, source=source) as changed:
        done = await coordinator.put_list(group, source, found)
        changed.update(splits=done.enumerator.count(), new=done.new, missing=done.missing)
    content = {"group": group, "source": source, "revision": done.enumerator.revision, **changed}
    return JSONResponse(content, headers=headers)


@router.post("/events", **route("unknown-group", "unknown-source", body="SourceEventToReaders", answers=MAILED))
async def mail(
    group: GroupName,
    source: SourceName,
    event: Annotated[SourceEventToReaders, message(SourceEventToReaders)],
    coordinator: TheCoordinator,
) -> Response:
    """Send a SourceEvent to all readers of the source, or to one of them."""
    return JSONResponse({"number": await coordinator.mail(group, source, event)})
