"""The routes for the history of a group: the journal of its changes, and samples for charts."""

import json
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from lockgate.errors import InvalidMessage
from lockgate.watermark import MAX
from lockgate_coordinator.api.document import Responses, answer, route
from lockgate_coordinator.api.parts import Digits, GroupName, Limit, TheCoordinator
from lockgate_coordinator.api.schemas import ref
from lockgate_coordinator.telemetry.changes import Kind

router = APIRouter(prefix="/v1/groups/{group}", tags=["groups"])

LINES = "application/x-ndjson"
KINDS = frozenset(kind.value for kind in Kind)

_KIND = f"({'|'.join(sorted(KINDS))})"
Kinds = Annotated[
    str,
    Query(
        description="Kinds of entries, separated by commas; all kinds if empty",
        max_length=1000,
        json_schema_extra={"pattern": f"^({_KIND}(,{_KIND}){{0,9}})?$"},
    ),
]
Id = Annotated[
    str,
    Query(
        pattern=r"^([0-9]{1,15}(-[0-9]{1,9})?)?$", description="Id of an entry, or a time in ms since the Unix epoch"
    ),
]
JOURNAL: Responses = {
    200: {
        **answer("A page of the journal", "Journal"),
        "content": {"application/json": {"schema": ref("Journal")}, LINES: {"schema": ref("JournalEntry")}},
    }
}


@router.get("/journal", response_class=Response, **route("unknown-group", answers=JOURNAL))
async def journal(
    group: GroupName,
    coordinator: TheCoordinator,
    limit: Limit = 100,
    after: Id = "",
    before: Id = "",
    kind: Kinds = "",
    source: Annotated[str, Query(pattern="^[A-Za-z0-9._:-]{0,255}$")] = "",
    order: Annotated[str, Query(pattern="^(newest|oldest)$")] = "newest",
    accept: Annotated[str, Header()] = "",
) -> Response:
    """List journal entries. `after` and `before` bound their ids or times. Pass `next` as `before`
    to get the next page, or as `after` with `order=oldest`. With `Accept: application/x-ndjson`
    each entry is a line.
    """
    kinds = _kinds(kind)
    found, last = await coordinator.journal(
        group,
        (after, before, order == "newest"),
        limit,
        lambda entry: (not kinds or entry["kind"] in kinds) and (not source or entry.get("source") == source),
    )
    if LINES in accept:
        lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in found)
        return Response("".join(lines), media_type=LINES)
    return JSONResponse({"group": group, "items": found, "next": last})


@router.get("/samples", **route("unknown-group", answers={200: answer("Samples in order of time", "Samples")}))
async def samples(
    group: GroupName,
    coordinator: TheCoordinator,
    after: Annotated[int | None, Query(ge=0, le=MAX), Digits] = None,
) -> Response:
    """Return samples of the group's progress for charts. With `after` (ms), return only later ones.
    There is a sample every 10 seconds for the last 10 minutes, every minute for 3 hours and every
    10 minutes for 2 days. No sample exists for times without reports.
    """
    found = await coordinator.store.read_samples(group)
    if not found:
        await coordinator.refresh(group)
    items = [{"at": at, **json.loads(text)} for at, text in found if after is None or at > after]
    return JSONResponse({"group": group, "samples": items})


def _kinds(text: str) -> frozenset[str]:
    """Return the kinds in `text`, separated by commas. Raises `InvalidMessage` for unknown ones."""
    kinds = frozenset(text.split(",")) if text else frozenset()
    if kinds - KINDS:
        names = ", ".join(sorted(kinds - KINDS))
        raise InvalidMessage(
            [("kind", f"{names[:200]!r} is not a kind of entry; the kinds are {', '.join(sorted(KINDS))}")]
        )
    return kinds
