"""The page `/metrics` for Prometheus."""

import asyncio
from typing import cast

from fastapi import APIRouter, Request, Response

from lockgate_coordinator.access.denials import Forbidden, TooManyRequests, Unauthorized
from lockgate_coordinator.api.document import refusals
from lockgate_coordinator.api.parts import TheCoordinator
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.service.group_scrape import scrape_groups
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.telemetry.metrics import Metrics

router = APIRouter(tags=["metrics"])

TEXT = {
    "description": "Metrics in Prometheus's text format, or in OpenMetrics if the Accept header asks for it",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get(
    "/metrics",
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
