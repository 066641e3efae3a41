"""What the routes take: names, the coordinator, and a body parsed by hand, since numbers of 64 bits have to come through exactly."""

import json
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from lockgate.errors import InvalidMessage
from lockgate_coordinator.api.errors import BodyTooLarge
from lockgate_coordinator.service.coordinator import Coordinator

BODY_LIMIT = 8 * 1024 * 1024

_NAME = r"^[A-Za-z0-9._:-]{1,255}$"
GroupName = Annotated[str, Path(pattern=_NAME)]
SourceName = Annotated[str, Path(pattern=_NAME)]


def _coordinator(request: Request) -> Coordinator:
    return cast("Coordinator", request.app.state.coordinator)


async def _body(request: Request) -> object:
    """The body as JSON. Stops reading at the limit, whatever length the request claims."""
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_LIMIT:
            raise BodyTooLarge(f"the body is over {BODY_LIMIT} bytes: send less at a time")
        parts.append(part)
    try:
        return json.loads(b"".join(parts))
    except RecursionError:
        raise InvalidMessage([("body", "is nested too deeply")]) from None
    except ValueError as error:
        raise InvalidMessage([("body", f"must be JSON in UTF-8: {error}")]) from None


TheCoordinator = Annotated[Coordinator, Depends(_coordinator)]
Body = Annotated[object, Depends(_body)]
