"""The answers to errors, as `application/problem+json` (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from lockgate.errors import (
    InvalidMessage,
    LimitReached,
    ReaderBusy,
    StaleEpoch,
    UnknownGroup,
    UnknownReader,
    UnknownSource,
)
from lockgate.group.commands import PreconditionFailed
from lockgate.steps import ITEMS_OF_A_STEP, Steps
from lockgate.wire.fields import Json
from lockgate_coordinator.access.denials import (
    CrossSite,
    Forbidden,
    ForeignHost,
    TooManyAtOnce,
    TooManyRequests,
    Unauthorized,
)
from lockgate_coordinator.api.schemas import TEXT, integer, list_of, record
from lockgate_coordinator.service.announcer import TooManyWatchers
from lockgate_coordinator.service.coordinator import Stopping
from lockgate_coordinator.store import StoreUnavailable, UnreadableGroup
from lockgate_coordinator.telemetry.requests import PROBLEM


class BodyTooLarge(Exception):
    """The body of a request is over the limit."""


class NotJson(Exception):
    """The `Content-Type` of a request is not JSON."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The answer to one type of error, a row of `TABLE`.

    Attributes:
        status: The HTTP status.
        type: The end of the problem's URN, such as `unknown-group`.
        title: The title of the problem.
        members: The schemas of this problem's own members. Their values are attributes of the error
            with the same names.
        retry_after_s: The seconds in `Retry-After`, unless the error has an attribute of this name.
    """

    status: int
    type: str
    title: str
    members: Mapping[str, Json] = field(default_factory=dict)
    retry_after_s: int | None = None


_FAULT = record({"field": TEXT, "detail": TEXT})

TABLE: Mapping[type[Exception], Problem] = {
    InvalidMessage: Problem(422, "invalid-request", "The request breaks the protocol", {"errors": list_of(_FAULT)}),
    UnknownGroup: Problem(404, "unknown-group", "There is no such group"),
    UnknownSource: Problem(404, "unknown-source", "The group has no such source"),
    UnknownReader: Problem(404, "unknown-reader", "The source has no such reader"),
    StaleEpoch: Problem(409, "stale-epoch", "The epoch is not the newest", {"current_epoch": integer(1)}),
    ReaderBusy: Problem(409, "reader-busy", "Another owner's lease is still valid", {"owner": TEXT}),
    LimitReached: Problem(409, "limit-reached", "A limit is reached", {"limit": TEXT, "most": integer(0)}),
    PreconditionFailed: Problem(
        412, "precondition-failed", "The configuration does not meet the request's precondition"
    ),
    BodyTooLarge: Problem(413, "too-large", "The body is too large"),
    Unauthorized: Problem(401, "unauthorized", "A valid token is required"),
    Forbidden: Problem(403, "forbidden", "The token does not permit this request"),
    ForeignHost: Problem(421, "foreign-host", "The request is for another host"),
    CrossSite: Problem(403, "cross-site", "The request comes from a page of another site"),
    NotJson: Problem(415, "not-json", "The Content-Type is not JSON"),
    TooManyAtOnce: Problem(429, "too-many-at-once", "The token has too many requests in progress"),
    TooManyRequests: Problem(429, "too-many-requests", "The token has exceeded its request rate"),
    TooManyWatchers: Problem(503, "too-many-subscribers", "Too many subscribers", retry_after_s=5),
    UnreadableGroup: Problem(
        503, "unreadable-group", "The group cannot be read", {"reason": TEXT, "remedy": TEXT}, retry_after_s=10
    ),
    Stopping: Problem(503, "stopping", "The coordinator is shutting down", retry_after_s=1),
    StoreUnavailable: Problem(503, "store-unavailable", "The store is unavailable", retry_after_s=1),
}


def described(error: Exception) -> Json:
    """Return the problem document of an error, without `instance`."""
    row = TABLE[type(error)]
    if isinstance(error, InvalidMessage):
        members: Json = {"errors": [{"field": name, "detail": detail} for name, detail in error.faults]}
        members |= {"more_errors": error.more} if error.more else {}
    else:
        members = {name: getattr(error, name) for name in row.members}
    return {
        "type": f"urn:lockgate:{row.type}",
        "title": row.title,
        "status": row.status,
        "detail": str(error),
        **members,
    }


def problem(path: str, error: Exception) -> Response:
    """Return the response to a request for `path` that failed with an error in `TABLE`."""
    row = TABLE[type(error)]
    seconds = getattr(error, "retry_after_s", row.retry_after_s)
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    if row.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return _answer(path, row.type, described(error), headers)


REJECTED_IN_FULL = 20
"""The number of rejected reports of a batch whose faults are listed in full."""


def rejections(rejected: Sequence[tuple[int, Exception]]) -> Steps[bytes]:
    """Return a JSON list of the rejected reports of a batch, each with its index and problem. The
    first `REJECTED_IN_FULL` problems contain all faults, the others only their first one.
    """
    texts = list[bytes]()
    for place, (index, error) in enumerate(rejected):
        told = error if place < REJECTED_IN_FULL else _shortened(error)
        # in ASCII, since a text may repeat characters of the request that UTF-8 cannot encode
        texts.append(json.dumps({"index": index, **described(told)}).encode())
        if not len(texts) % (ITEMS_OF_A_STEP // 5):  # each takes as long as five splits
            yield
    return b"[%b]" % b",".join(texts)


def _shortened(error: Exception) -> Exception:
    if not isinstance(error, InvalidMessage) or len(error.faults) <= 1:
        return error
    return InvalidMessage(error.faults[:1], error.more + len(error.faults) - 1)


def install(app: FastAPI) -> None:
    """Add handlers to `app` that turn every error into a problem document."""
    for kind in TABLE:
        app.add_exception_handler(kind, _of_the_table)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_a_fault)


def _of_the_table(request: Request, error: Exception) -> Response:
    return problem(request.url.path, error)


def _of_validation(request: Request, error: Exception) -> Response:
    """Return the problem of an invalid path, query or header."""
    assert isinstance(error, RequestValidationError)
    faults = [(".".join(str(part) for part in fault["loc"][1:]), str(fault["msg"])) for fault in error.errors()]
    return _of_the_table(request, InvalidMessage(faults))


def _of_http(request: Request, error: Exception) -> Response:
    """Return the problem of an unknown route, or of a method that a route does not have."""
    assert isinstance(error, HTTPException)
    detail = f"{request.method} {request.url.path}"
    return _untyped(request, HTTPStatus(error.status_code), detail, error.headers or {})


def _of_a_fault(request: Request, error: Exception) -> Response:
    return _untyped(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: see the coordinator's log", {})


def _untyped(request: Request, status: HTTPStatus, detail: str, headers: Mapping[str, str]) -> Response:
    """Return a problem of the type about:blank (RFC 9457)."""
    members = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return _answer(request.url.path, status.phrase.lower().replace(" ", "-"), members, headers)


def _answer(path: str, kind: str, members: Json, headers: Mapping[str, str]) -> Response:
    """Return a response in ASCII, as it may quote characters that UTF-8 cannot encode."""
    text = json.dumps({**members, "instance": path})
    return _ProblemResponse(text, members["status"], headers, media_type="application/problem+json", kind=kind)


class _ProblemResponse(Response):
    """A response that puts its problem type into the scope, where `MeasuredRequests` counts it."""

    def __init__(self, *members: Any, kind: str, **more: Any) -> None:
        super().__init__(*members, **more)
        self._kind = kind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PROBLEM] = self._kind
        await super().__call__(scope, receive, send)
