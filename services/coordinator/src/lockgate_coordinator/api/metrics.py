"""What Prometheus reads."""

import asyncio
from typing import cast

from fastapi import APIRouter, Request, Response

from lockgate_coordinator.access.denials import Forbidden, TooManyRequests, Unauthorized
from lockgate_coordinator.api.document import refusals
from lockgate_coordinator.api.errors import TABLE
from lockgate_coordinator.api.parts import TheCoordinator
from lockgate_coordinator.service.figures import find
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.telemetry.metrics import Metrics

router = APIRouter(tags=["metrics"])

TEXT = {
    "description": "Prometheus's text format, or OpenMetrics where it is asked for",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: TEXT, **refusals([TABLE[Unauthorized], TABLE[Forbidden], TABLE[TooManyRequests]])},
)
async def metrics(request: Request, coordinator: TheCoordinator) -> Response:
    """All metrics of this process, and those of all groups. Each group is evaluated once."""
    told = cast("Metrics", request.app.state.metrics)
    settings = cast("Settings", request.app.state.settings)
    async with told.scraping:
        found = await find(coordinator, name_splits=settings.split_metrics)
        if found.answered and not found.more:
            told.totals.keep_only({group.name for group in found.groups})
        text, content_type = await asyncio.to_thread(told.exposition, request.headers.get("accept", ""), found)
    return Response(text, headers={"content-type": content_type})
