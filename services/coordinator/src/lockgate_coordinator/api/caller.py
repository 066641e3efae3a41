"""Whom the service takes a request for: the dashboard shows what its token may do, and no more."""

from typing import Any

from fastapi import APIRouter, Request

from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Role, Token
from lockgate_coordinator.api.document import answer, route

router = APIRouter(prefix="/v1/token", tags=["access"])


@router.get("", **route(answers={200: answer("The token's name and rights", "Caller")}, names=False))
async def caller(request: Request) -> dict[str, Any]:
    """Return the name, role and groups of the request's token. Without tokens everybody may do
    everything.
    """
    token: Token | None = request.scope.get(TOKEN)
    if token is None:
        return {"name": None, "role": str(Role.ADMIN), "groups": None}
    return {
        "name": token.name,
        "role": str(token.role),
        "groups": None if token.groups is None else list(token.groups),
    }
