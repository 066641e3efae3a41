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
    """Answer that the process is up."""
    return {"status": "live"}


NOT_READY = refusals([TABLE[StoreUnavailable], TABLE[Stopping]])


@router.get("/readyz", responses={200: answer("It can work", "Ready"), **NOT_READY})
async def readyz(coordinator: TheCoordinator) -> dict[str, str]:
    """Answer whether the store is readable and writable, commits succeed and the service stays up;
    else 503.
    """
    await coordinator.ready()
    return {"status": "ready"}
