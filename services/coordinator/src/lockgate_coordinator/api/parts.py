"""The parameters of routes: names, the coordinator, and the body. The body is parsed here and not
by FastAPI, so that 64-bit numbers stay exact.
"""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, cast

from fastapi import Depends, Header, Path, Query, Request
from pydantic import BeforeValidator
from starlette.requests import ClientDisconnect

from lockgate.errors import InvalidMessage
from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Token
from lockgate_coordinator.api.problems import BodyTooLarge, NotJson
from lockgate_coordinator.api.schemas import NAME_PATTERN
from lockgate_coordinator.service.coordinator import Coordinator

BODY_LIMIT = 8 * 1024 * 1024
_TOO_LARGE = f"the body is over {BODY_LIMIT} bytes: send less at a time"

_NOT_JSON = "send the body as Content-Type: application/json (curl: -H 'content-type: application/json')"

VALUES_LIMIT = 200_000
"""The most values of a body, about: its commas and opening brackets. A body of this many takes some
40 ms to parse, in which no other request is served; one of 8 MiB of empty objects takes a second.
"""

_TOO_MANY = f"the body has over {VALUES_LIMIT:,} values: send less at a time"

GroupName = Annotated[str, Path(pattern=NAME_PATTERN, min_length=1, max_length=255)]
SourceName = Annotated[str, Path(pattern=NAME_PATTERN, min_length=1, max_length=255)]


def _digits(value: object) -> object:
    """Accepts plain integers only, as in bodies: not "1.0", " 1" or "1_000"."""
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,19}", value):
        raise ValueError("must be an integer of 64 bits")
    return value


def _true_or_false(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value


Digits = BeforeValidator(_digits)
"""For numbers in paths and queries. In an annotation it comes after the bounds, or the OpenAPI
document would lack them.
"""

Flag = Annotated[bool, Query(), BeforeValidator(_true_or_false)]
Limit = Annotated[int, Query(ge=1, le=1000), Digits]
"""How many items a page may have."""


Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,255}$",
        description="The same in each repetition of a request, and of no other request: a repetition is answered "
        "like the first, and takes effect once",
    ),
]


def act_of(key: str | None, *what: object) -> str | None:
    """The act that a key names; None without a key. A key that is used for something else is
    another act.
    """
    return None if key is None else sha256(repr((key, *what)).encode()).hexdigest()[:16]


async def _coordinator(request: Request) -> Coordinator:
    # async, because FastAPI runs other functions on a thread, which costs more than the request
    return cast("Coordinator", request.app.state.coordinator)


async def _body(request: Request) -> object:
    """The body as JSON. A body whose Content-Length is over the limit is not read at all; another
    is read up to the limit.
    """
    if not is_json(request.headers.get("content-type", "").encode("latin-1")):
        raise NotJson(_NOT_JSON)
    parts, size = list[bytes](), _announced(request)
    if size > BODY_LIMIT:
        raise BodyTooLarge(_TOO_LARGE)
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > BODY_LIMIT:
                raise BodyTooLarge(_TOO_LARGE)
            parts.append(part)
    except ClientDisconnect:  # the client's fault, so nothing is logged
        raise InvalidMessage([("body", "ended too early")]) from None
    whole = b"".join(parts)
    if too_many_values(whole):
        raise BodyTooLarge(_TOO_MANY)
    try:
        return json.loads(whole.decode(), parse_constant=_no_number)
    except RecursionError:
        raise InvalidMessage([("body", "is nested too deeply")]) from None
    except ValueError as error:
        raise InvalidMessage([("body", f"must be JSON in UTF-8: {error}")]) from None


def is_json(content_type: bytes) -> bool:
    """Whether a body of this `Content-Type` may be JSON. A page of another site can send texts and
    forms without asking, but no JSON. Tools that name no type are taken at their word.
    """
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in (b"", b"application/json") or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def too_many_values(body: bytes) -> bool:
    """Whether a body has more values than `VALUES_LIMIT`, before it is parsed. Commas and brackets
    within texts count too.
    """
    return len(body) > VALUES_LIMIT and sum(body.count(mark) for mark in (b",", b"{", b"[")) > VALUES_LIMIT


def _no_number(text: str) -> float:
    """Refuses NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"{text} is no JSON")


def _announced(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length[:19]) if length.isascii() and length.isdecimal() else 0


async def _visible(request: Request) -> Callable[[str], bool]:
    token: Token | None = request.scope.get(TOKEN)
    return (lambda group: True) if token is None else token.may_touch


Visible = Annotated[Callable[[str], bool], Depends(_visible)]
"""Whether the request's token may see a group."""

TheCoordinator = Annotated[Coordinator, Depends(_coordinator)]
Body = Annotated[object, Depends(_body)]
