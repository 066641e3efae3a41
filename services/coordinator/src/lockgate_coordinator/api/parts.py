"""The types of the routes' parameters: names, numbers, headers, and the coordinator."""

import re
from hashlib import sha256
from typing import Annotated, cast

from fastapi import Depends, Header, Path, Query, Request
from pydantic import BeforeValidator

from lockgate_coordinator.api.schemas import NAME_FORM
from lockgate_coordinator.service.coordinator import Coordinator

GroupName = Annotated[str, Path(pattern=NAME_FORM, min_length=1, max_length=255)]
SourceName = Annotated[str, Path(pattern=NAME_FORM, min_length=1, max_length=255)]


def _digits(value: object) -> object:
    """Return `value`. Raise `ValueError` for text that is not a plain integer, such as "1_000"."""
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,19}", value):
        raise ValueError("must be an integer of 64 bits")
    return value


def _true_or_false(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value


Digits = BeforeValidator(_digits)
"""A validator of integers in paths and queries. In an annotation, it must come after the bounds."""

Flag = Annotated[bool, Query(), BeforeValidator(_true_or_false)]
Limit = Annotated[int, Query(ge=1, le=1000), Digits]
"""The maximum number of items on a page."""

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,255}$",
        description="A key of your choice, unique to this request. A repeated request with the same key gets the "
        "same answer and takes effect only once",
    ),
]


def act_of(key: str | None, *what: object) -> str:
    """Return the id (`act`) by which a repeated request is recognised, or "" without a `key`. The
    id also depends on `what`, so that two different requests with the same key have different ids.
    """
    return "" if key is None else sha256(repr((key, *what)).encode()).hexdigest()[:16]


async def _coordinator(request: Request) -> Coordinator:
    # async, because FastAPI runs other functions on a thread, which costs more than the request
    return cast("Coordinator", request.app.state.coordinator)


TheCoordinator = Annotated[Coordinator, Depends(_coordinator)]
