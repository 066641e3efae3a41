"""The routes for the state of the process: liveness, readiness and metrics."""

import asyncio
from typing import cast

from fastapi import APIRouter, Request, Response

from lockgate_coordinator.access.denials import Forbidden, TooManyRequests, Unauthorized
from lockgate_coordinator.api.document import answer, refusals
from lockgate_coordinator.api.parts import TheCoordinator
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.service.coordinator import Stopping
from lockgate_coordinator.service.group_scrape import scrape_groups
from lockgate_coordinator.settings import Settings
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
    "/metrics",
    tags=["metrics"],
    response_class=Response,
    responses={200: TEXT, **refusals([TABLE[Unauthorized], TABLE[Forbidden], TABLE[TooManyRequests]])},
)
async def metrics(request: Request, coordinator: TheCoordinator) -> Response:
    """Return the metrics of this process and of all groups."""
    counted = cast("Metrics", request.app.state.metrics)
    settings = cast("Settings", request.app.state.settings)
    async with counted.scraping:
        scrape = await scrape_groups(coordinator, name_splits=settings.split_metrics)
        if scrape.complete and not scrape.more_groups:
            counted.totals.keep_only({group.name for group in scrape.groups}.union(scrape.unreadable))
        text, content_type = await asyncio.to_thread(counted.exposition, request.headers.get("accept", ""), scrape)
    return Response(text, headers={"content-type": content_type})
