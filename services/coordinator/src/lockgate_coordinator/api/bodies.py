"""Bodies: how much of a request's is read, how it is parsed, and how a long answer is written.

The body is parsed here and not by FastAPI, so that 64-bit numbers stay exact. `json.loads` serves
nobody else until it is done: 4 MiB of JSON may take it 0.2 s. So a large body is taken apart first,
which a compiled parser does in some milliseconds, and its parts are parsed one after the other.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from lockgate.errors import InvalidMessage
from lockgate.steps import AT_ONCE, Steps, parts
from lockgate_coordinator.api.problems import BodyTooLarge, NotJson
from lockgate_coordinator.limits import BodyLimit, Limits
from lockgate_coordinator.pauses import InTurn

PIECE = 65_536
"""Bytes of JSON that are parsed at once: 3 ms at the most."""

DEEPEST = 8
"""How deep a value of more than `PIECE` bytes may be within others. The protocol needs 4."""

_NOT_JSON = "send the body as Content-Type: application/json (curl: -H 'content-type: application/json')"

_FEW = 50  # a longer object has no long values: splits, attributes

_map = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


async def _report_body(request: Request) -> object:
    return await _body(request, _limits(request).report_body)


async def _other_body(request: Request) -> object:
    return await _body(request, _limits(request).other_body)


Body = Annotated[object, Depends(_other_body)]
"""The body of a configuration or a registration as JSON."""

ReportBody = Annotated[object, Depends(_report_body)]
"""The body of a request that may name thousands of splits or readers as JSON."""


def _limits(request: Request) -> Limits:
    limits: Limits = request.app.state.settings.limits
    return limits


async def in_turn(request: Request) -> InTurn:
    """For work on a body that may take long."""
    shared: InTurn = request.app.state.in_turn
    return shared


TheTurn = Annotated[InTurn, Depends(in_turn)]


async def _body(request: Request, limit: BodyLimit) -> object:
    """Return the body as JSON. A body whose Content-Length is over the limit is not read at all;
    another is read up to the limit.
    """
    if not is_json(request.headers.get("content-type", "").encode("latin-1")):
        raise NotJson(_NOT_JSON)
    parts, size = list[bytes](), _announced(request)
    if size > limit.size:
        raise _too_large(limit)
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit.size:
                raise _too_large(limit)
            parts.append(part)
    except ClientDisconnect:  # the client's fault, so nothing is logged
        raise InvalidMessage([("body", "ended before its announced length")]) from None
    whole = b"".join(parts)
    if limit.has_too_many_values(whole):
        raise BodyTooLarge(f"the body has more than {limit.values:,} values: send less at a time")
    try:
        whole.decode()
        return await request.app.state.in_turn.work(parsed(whole))
    except RecursionError:
        raise InvalidMessage([("body", "is nested too deeply")]) from None
    except ValueError as error:
        raise InvalidMessage([("body", f"must be JSON in UTF-8: {error}")]) from None


def _too_large(limit: BodyLimit) -> BodyTooLarge:
    return BodyTooLarge(f"the body is over {limit.size} bytes: send less at a time")


def is_json(content_type: bytes) -> bool:
    """Return whether a body of this `Content-Type` may be JSON. A page of another site can send
    texts and forms without asking, but no JSON. Tools that name no type are taken at their word.
    """
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in (b"", b"application/json") or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def parsed(text: bytes | msgspec.Raw, depth: int = 0) -> Steps[object]:
    """As `json.loads` of valid UTF-8, but NaN and Infinity are refused. Raises `ValueError`, and
    `RecursionError` for what is nested too deeply.
    """
    whole = bytes(text)
    if len(whole) <= PIECE:
        return _loads(whole)
    if depth > DEEPEST:
        raise RecursionError
    yield
    try:
        first = whole.lstrip(b" \t\r\n")[:1]
        if first == b"{":
            by_name = _map.decode(whole)
            yield
            return dict(zip(by_name, (yield from _values(list(by_name.values()), depth + 1)), strict=True))
        if first == b"[":
            items = _list.decode(whole)
            yield
            return (yield from _values(items, depth + 1))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    return _loads(whole)


def _values(items: list[msgspec.Raw], depth: int) -> Steps[list[object]]:
    values = list[object]()
    for part in _parts(items):
        if len(part) == 1:
            values.append((yield from parsed(part[0], depth)))
        else:
            values += _loads(b"[%b]" % b",".join(part))
        yield
    return values


def _parts(items: list[msgspec.Raw]) -> Iterator[list[msgspec.Raw]]:
    """Yield the items in their order: neighbours together, or one that is longer than `PIECE`."""
    part, size = list[msgspec.Raw](), 0
    for item in items:
        length = len(memoryview(item))
        if part and (size + length > PIECE or len(part) == 10 * AT_ONCE):
            yield part
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield part


def _loads(text: bytes) -> Any:
    return json.loads(text.decode(), parse_constant=_no_number)


def _no_number(text: str) -> float:
    """Refuse NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"{text} is not valid JSON")


def written(value: object) -> Steps[bytes]:
    """As `json.dumps`, in steps. In ASCII, since a text may be one that UTF-8 cannot carry."""
    return (yield from _written(value)).encode()


def _written(value: object) -> Steps[str]:
    texts = list[str]()
    if isinstance(value, list):
        for place, each in enumerate(value, 1):
            texts.append((yield from _written(each)))
            if not place % _FEW:
                yield
        return f"[{','.join(texts)}]"
    if not isinstance(value, dict):
        return json.dumps(value)
    if len(value) <= _FEW:
        plain = dict[str, object]()  # neighbours that hold nothing are written together
        for key, each in value.items():
            if not isinstance(each, (dict, list)) or not each:
                plain[key] = each
                continue
            if plain:
                texts.append(json.dumps(plain)[1:-1])
                plain = {}
            texts.append(f"{json.dumps(key)}:{(yield from _written(each))}")
        if plain:
            texts.append(json.dumps(plain)[1:-1])
    else:
        for some in parts(list(value.items())):
            texts.append(json.dumps(dict(some))[1:-1])
            yield
    return f"{{{','.join(texts)}}}"


def _announced(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length[:19]) if length.isascii() and length.isdecimal() else 0
