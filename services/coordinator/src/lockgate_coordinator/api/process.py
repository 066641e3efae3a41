"""The routes for the state of the process, for its metrics, and for the caller's own rights."""

import asyncio
from typing import Any, cast

from fastapi import APIRouter, Request, Response

from lockgate_coordinator.access.denials import Forbidden, TooManyRequests, Unauthorized
from lockgate_coordinator.access.guard import TOKEN
from lockgate_coordinator.access.tokens import Role, Token
from lockgate_coordinator.api.document import answer, refusals, route
from lockgate_coordinator.api.parts import TheCoordinator
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.service.coordinator import Stopping
from lockgate_coordinator.service.group_scrape import scrape_groups
from lockgate_coordinator.store import StoreUnavailable
from lockgate_coordinator.telemetry.metrics import Metrics

router = APIRouter()

NOT_READY = refusals([TABLE[StoreUnavailable], TABLE[Stopping]])
TEXT = {
    "description": "Metrics in Prometheus's text format, or in OpenMetrics if the Accept header asks for it",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get("/livez", tags=["health"], responses={200: answer("The process is up", "Live")})
async def livez() -> dict[str, str]:
    """Check that the process is up."""
    return {"status": "live"}


@router.get(
    "/readyz", tags=["health"], responses={200: answer("The coordinator can serve requests", "Ready"), **NOT_READY}
)
async def readyz(coordinator: TheCoordinator) -> dict[str, str]:
    """Check that the coordinator can serve requests. The status is 503 while the store cannot be
    read or written, commits fail or the coordinator is shutting down.
    """
    await coordinator.ready()
    return {"status": "ready"}


@router.get(
    "/v1/token",
    tags=["access"],
    **route(answers={200: answer("The token's name, role and groups", "Caller")}, names=False),
)
async def caller(request: Request) -> dict[str, Any]:
    """Return the name, role and groups of the request's token. A coordinator without tokens gives
    each caller the role admin.
    """
    token: Token | None = request.scope.get(TOKEN)
    if token is None:
        return {"name": None, "role": str(Role.ADMIN), "groups": None}
    groups = None if token.groups is None else list(token.groups)
    return {"name": token.name, "role": str(token.role), "groups": groups}


@router.get(
    "/metrics",
    tags=["metrics"],
    response_class=Response,
    responses={200: TEXT, **refusals([TABLE[Unauthorized], TABLE[Forbidden], TABLE[TooManyRequests]])},
)
async def metrics(request: Request, coordinator: TheCoordinator) -> Response:
    """Return the metrics of this process and of all groups."""
    counted = cast("Metrics", request.app.state.metrics)
    async with counted.scraping:
        scrape = await scrape_groups(coordinator)
        if scrape.complete and not scrape.more_groups:
            counted.totals.keep_only({group.name for group in scrape.groups}.union(scrape.unreadable))
        text, content_type = await asyncio.to_thread(counted.exposition, request.headers.get("accept", ""), scrape)
    return Response(text, headers={"content-type": content_type})
