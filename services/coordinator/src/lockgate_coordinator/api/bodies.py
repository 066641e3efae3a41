"""Functions that read request bodies up to a limit, and decode them as messages of the protocol.

The most frequent messages have a compiled decoder of msgspec, which checks a body while parsing it.
`lockgate.wire.codec` decodes all other messages. It also decodes the bodies that a compiled decoder
rejects or that are too large for it, because its errors name the faults of a body. A large body is
decoded on a thread, one at a time, so that the event loop can serve other requests.
"""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import msgspec
from fastapi import Depends, Request
from starlette.types import Receive, Scope

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json
from lockgate.wire.events import ProgressEvent, ReportBatch, ReportedWatermarkEvent, SourcedReport
from lockgate_coordinator.api.problems import BodyTooLarge, NotJson
from lockgate_coordinator.limits import BodyLimit, Limits
from lockgate_coordinator.pauses import InTurn

T = TypeVar("T")

COMPILED_LIMIT: Final = 524_288
"""The size in bytes up to which a compiled decoder is used. It may block other work for 10 ms, or
20 ms if the splits have the shortest possible names.
"""

LARGE: Final = 65_536
"""The size in bytes above which a body is decoded on a thread. A smaller one takes at most 6 ms."""

_NOT_JSON = "send the body as Content-Type: application/json (curl: -H 'content-type: application/json')"

_decoders: Final[dict[type[Any], Callable[[Any], Any]]] = {
    kind: msgspec.json.Decoder(kind).decode
    for kind in (ReportedWatermarkEvent, SourcedReport, ReportBatch, ProgressEvent)
}
"""The compiled decoders, by message. A message that allows no unknown fields has none, because
msgspec would accept them. A message with a `fields.JsonForm` has none either, because msgspec does
not support it.
"""


def decoded(kind: type[T], body: bytes | msgspec.Raw) -> T:
    """Decode `body` as a message of the class `kind`. Raises `InvalidMessage` if it is none."""
    message = compiled(kind, body)
    return from_json(kind, parsed(body)) if message is None else message


def compiled(kind: type[T], body: bytes | msgspec.Raw) -> T | None:
    """Return the message in a body, decoded by the compiled decoder of its `kind`. Return None if
    there is no such decoder, or if the body is invalid or too large for it.
    """
    decode = _decoders.get(kind) if len(memoryview(body)) <= COMPILED_LIMIT else None
    try:
        return None if decode is None else cast("T", decode(body))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def parsed(body: bytes | msgspec.Raw) -> object:
    """Return the parsed JSON of a body. Raises `InvalidMessage` if it is not JSON."""
    try:
        return _loads(bytes(body).decode())
    except RecursionError:
        raise InvalidMessage([("body", "is nested too deeply")]) from None
    except ValueError as error:
        raise InvalidMessage([("body", f"must be JSON in UTF-8: {error}")]) from None


def _loads(text: str) -> object:
    """Return the parsed JSON of `text`, which may have 4 MB, without blocking other threads.

    Python functions convert the numbers, so that other threads can run at each call. Otherwise,
    `json` would block all other threads until the end. So would msgspec, which takes 6 µs for a
    number of 17 digits.
    """
    return json.loads(
        text, parse_constant=_no_number, parse_float=lambda digits: float(digits), parse_int=lambda digits: int(digits)
    )


def _no_number(text: str) -> float:
    """Raise `ValueError` for NaN and Infinity, which `json` accepts but JSON does not have."""
    raise ValueError(f"{text} is not valid JSON")


def message(kind: type[T], limit: Callable[[Limits], BodyLimit] = lambda limits: limits.other_body) -> Any:
    """Return a FastAPI dependency that reads the body and decodes it as a `kind`. `limit` returns
    the body's limit, given the service's `Limits`.
    """

    async def found(request: Request) -> T:
        state = request.app.state
        body = await read_body(request.scope, request.receive, limit(state.settings.limits))
        return await at_its_size(state.coordinator.in_turn, decoded, kind, body)

    return Depends(found)


def large_message(kind: type[T]) -> Any:
    """Return a dependency like `message`, with the higher limit for messages with many splits."""
    return message(kind, lambda limits: limits.report_body)


async def at_its_size(in_turn: InTurn, decode: Callable[..., T], *arguments: Any) -> T:
    """Return `decode(*arguments)`. If the last argument, the body, is large, use a thread."""
    if len(arguments[-1]) <= LARGE:
        return decode(*arguments)
    return await in_turn.on_thread(decode, *arguments)


async def read_body(scope: Scope, receive: Receive, limit: BodyLimit) -> bytes:
    """Read and return the request's body.

    Raises:
        BodyTooLarge: The body is over `limit`. If the Content-Length shows this, nothing is read.
        NotJson: The Content-Type is not JSON.
        InvalidMessage: The body ends too early or is not UTF-8.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:19]) > limit.size:
            raise _too_large(limit)
        if name == b"content-type" and value != b"application/json" and not is_json(value):
            raise NotJson(_NOT_JSON)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        part = await receive()
        if part["type"] != "http.request":  # the client's fault, so nothing is logged
            raise InvalidMessage([("body", "ended before its announced length")])
        parts.append(part.get("body", b""))
        size, more = size + len(parts[-1]), part.get("more_body", False)
        if size > limit.size:
            raise _too_large(limit)
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    if limit.has_too_many_values(body):
        raise BodyTooLarge(f"the body has more than {limit.values:,} values: send less at a time")
    if not body.isascii():  # in unknown fields msgspec accepts bytes that are not UTF-8
        try:
            body.decode()
        except UnicodeDecodeError as error:
            raise InvalidMessage([("body", f"must be JSON in UTF-8: {error}")]) from None
    return body


def is_json(content_type: bytes) -> bool:
    """Return whether this `Content-Type` is JSON or empty. Other types are refused, because a page
    of another site can send text and forms without a CORS preflight.
    """
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in (b"", b"application/json") or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _too_large(limit: BodyLimit) -> BodyTooLarge:
    return BodyTooLarge(f"the body is over {limit.size} bytes: send less at a time")
