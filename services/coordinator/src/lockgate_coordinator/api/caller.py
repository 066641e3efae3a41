"""The route for the caller's name and rights, so that the dashboard shows only permitted
actions.
"""

from typing import Any

from fastapi import APIRouter, Request

from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Role, Token
from lockgate_coordinator.api.document import answer, route

router = APIRouter(prefix="/v1/token", tags=["access"])


@router.get("", **route(answers={200: answer("The token's name, role and groups", "Caller")}, names=False))
async def caller(request: Request) -> dict[str, Any]:
    """Return the name, role and groups of the request's token. A coordinator without tokens gives
    each caller the role admin.
    """
    token: Token | None = request.scope.get(TOKEN)
    if token is None:
        return {"name": None, "role": str(Role.ADMIN), "groups": None}
    return {
        "name": token.name,
        "role": str(token.role),
        "groups": None if token.groups is None else list(token.groups),
    }
