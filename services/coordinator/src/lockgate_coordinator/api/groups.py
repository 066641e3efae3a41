"""The routes that configure, list, inspect and delete groups."""

import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse

from lockgate.errors import UnknownGroup, UnknownSource
from lockgate.group.commands import Versions
from lockgate.group.reader import ReaderKey
from lockgate.watermark import MAX
from lockgate.wire.codec import to_json
from lockgate.wire.events import GroupConfig
from lockgate.wire.fields import Json
from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Token
from lockgate_coordinator.api.audit import audited, differences, operator
from lockgate_coordinator.api.bodies import message
from lockgate_coordinator.api.document import ETAG, Responses, answer, route
from lockgate_coordinator.api.parts import Digits, GroupName, Key, Limit, SourceName, TheCoordinator, act_of
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.inspected_splits import summaries
from lockgate_coordinator.service.inspection import inspected, inspected_source, summary
from lockgate_coordinator.store import UnreadableGroup

router = APIRouter(prefix="/v1/groups", tags=["groups"])

NAMES_AT_ONCE = 1_000
Tags = Annotated[str | None, Header()]
AfterReader = Annotated[
    str,
    Query(
        pattern=r"^[A-Za-z0-9._:-]{1,255}/[0-9]{1,19}$", description="SOURCE/SUBTASK: the `next` of the previous page"
    ),
]

CONFIGURED: Responses = {
    200: answer("The group existed and has this configuration now", "GroupConfig", ETAG),
    201: answer("The group was created", "GroupConfig", ETAG),
}


@router.put("/{group}", **route("limit-reached", "precondition-failed", body="GroupConfig", answers=CONFIGURED))
async def configure(
    request: Request,
    group: GroupName,
    config: Annotated[GroupConfig, message(GroupConfig)],
    coordinator: TheCoordinator,
    if_match: Tags = None,
    if_none_match: Tags = None,
    key: Key = None,
) -> Response:
    """Create the group or replace its configuration. `If-Match` and `If-None-Match` prevent lost
    updates.
    """
    act = act_of(key, config, if_match, if_none_match)
    answer = JSONResponse(to_json(config))
    with audited(request, answer.headers, "configure", group) as changed:
        done = await coordinator.configure(
            group, config, act, operator(request), only=_versions(if_match), never=_versions(if_none_match)
        )
        changed.update(differences(done.before, config))
    answer.status_code = 201 if done.created else 200
    answer.headers["ETag"] = _etag(done.version)
    return answer


@router.get("", **route(answers={200: answer("A page of groups", "Groups")}, names=False))
async def listed(
    request: Request,
    coordinator: TheCoordinator,
    limit: Limit = 100,
    after: Annotated[str, Query(max_length=255)] = "",
) -> Response:
    """List groups by name. Pass `next` as `after` to get the next page. `unreadable` lists the
    groups of the page that cannot be read.
    """
    names = await _visible_names(coordinator, request.scope.get(TOKEN), after, limit + 1)
    items, unreadable = list[Json](), list[Json]()
    for name in names[:limit]:
        try:
            turn = await coordinator.refresh(name)
        except UnknownGroup:  # deleted a moment ago
            continue
        except UnreadableGroup as error:
            unreadable.append({"group": name, "reason": error.reason, "remedy": error.remedy})
            continue
        items.append(summary(turn.group, turn.event, turn.now.ms))
    more = {"unreadable": unreadable} if unreadable else {}
    return JSONResponse({"items": items, "next": names[limit - 1] if len(names) > limit else None, **more})


@router.get("/{group}", **route("unknown-group", answers={200: answer("The group", "InspectedGroup", ETAG)}))
async def one(
    group: GroupName,
    coordinator: TheCoordinator,
    limit: Limit = 100,
    after: AfterReader | None = None,
) -> Response:
    """Return the group with a page of its readers. They are in order of source and subtask; a page
    has at most `limit` readers and 2 MB. The `ETag` is the version of the configuration.
    """
    turn = await coordinator.refresh(group)
    found = inspected(turn.group, turn.event, turn.now.ms, limit=limit, after=None if after is None else _reader(after))
    answer = await coordinator.in_turn.work(found)
    loaded = await coordinator.enumerators.loaded(group)
    if loaded.sources:
        answer["enumerators"] = summaries(loaded.sources, loaded.now_ms)
    text = msgspec.json.encode(answer)
    return Response(text, headers={"ETag": _etag(turn.group.config_version)}, media_type="application/json")


@router.delete("/{group}", status_code=204, **route("unknown-group", answers={204: answer("The group is deleted")}))
async def forget(
    request: Request, response: Response, group: GroupName, coordinator: TheCoordinator, key: Key = None
) -> None:
    """Delete the group, its readers and its splits. This also works if the coordinator cannot read
    the stored group (problem `unreadable-group`).
    """
    with audited(request, response.headers, "delete", group):
        await coordinator.delete(group, act_of(key, "delete"))


@router.get(
    "/{group}/sources/{source}",
    **route("unknown-group", "unknown-source", answers={200: answer("The source", "InspectedSource")}),
)
async def source(
    group: GroupName,
    source: SourceName,
    coordinator: TheCoordinator,
    limit: Limit = 100,
    after: Annotated[int | None, Query(ge=0, le=MAX), Digits] = None,
) -> Response:
    """Return a page of the source's readers with their splits. They are in order of subtask; a page
    has at most `limit` readers and 2 MB.
    """
    turn = await coordinator.refresh(group)
    if not turn.group.readers.has_source(source):
        raise UnknownSource(group, source)
    found = inspected_source(turn.group, source, turn.now.ms, limit=limit, after=after)
    return Response(msgspec.json.encode(await coordinator.in_turn.work(found)), media_type="application/json")


def _reader(after: str) -> ReaderKey:
    source, _, subtask = after.partition("/")
    return source, int(subtask)


async def _visible_names(coordinator: Coordinator, token: Token | None, after: str, wanted: int) -> list[str]:
    """Return the first `wanted` group names that sort after `after` and that the token may see."""
    found = list[str]()
    while True:
        names = await coordinator.store.names(after, max(wanted, NAMES_AT_ONCE))
        found += [name for name in names if token is None or token.may_touch(name)]
        if len(found) >= wanted or len(names) < max(wanted, NAMES_AT_ONCE):
            return found[:wanted]
        after = names[-1]


def _etag(version: int) -> str:
    return f'"{version}"'


def _versions(header: str | None) -> Versions | None:
    """Return the versions in an `If-Match` or `If-None-Match` header (RFC 9110, 13.1), or None if
    there is no header.
    """
    if header is None:
        return None
    tags = [tag.strip() for tag in header.split(",")]
    named = frozenset(int(tag[1:-1]) for tag in tags if re.fullmatch(r'"[1-9][0-9]{0,18}"', tag))
    return Versions(named, any="*" in tags)
