"""Whether the process is up, and whether it can do its work."""

from fastapi import APIRouter

from lockgate_coordinator.api.parts import TheCoordinator

router = APIRouter(tags=["health"])


@router.get("/livez")
async def livez() -> dict[str, str]:
    """The process is up."""
    return {"status": "live"}


@router.get("/readyz")
async def readyz(coordinator: TheCoordinator) -> dict[str, str]:
    """The store can be read and written; else 503."""
    await coordinator.ready()
    return {"status": "ready"}
