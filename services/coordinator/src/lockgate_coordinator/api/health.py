"""Whether the process is up, and whether it can do its work."""

from fastapi import APIRouter

from lockgate_coordinator.api.document import answer, refusals
from lockgate_coordinator.api.parts import TheCoordinator
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.service.coordinator import Stopping
from lockgate_coordinator.store import StoreUnavailable

router = APIRouter(tags=["health"])


@router.get("/livez", responses={200: answer("The process is up", "Live")})
async def livez() -> dict[str, str]:
    """Check that the process is up."""
    return {"status": "live"}


NOT_READY = refusals([TABLE[StoreUnavailable], TABLE[Stopping]])


@router.get("/readyz", responses={200: answer("The coordinator can serve requests", "Ready"), **NOT_READY})
async def readyz(coordinator: TheCoordinator) -> dict[str, str]:
    """Check that the coordinator can serve requests. The status is 503 while the store cannot be
    read or written, commits fail or the coordinator is shutting down.
    """
    await coordinator.ready()
    return {"status": "ready"}
