"""The application: a store in, an ASGI application out. Nothing is built at import time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from lockgate_coordinator.api import alignment, document, errors, groups, health, readers, reports
from lockgate_coordinator.api.lean import LeanReports
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import Store


def create_app(store: Store) -> FastAPI:
    """The service over `store`, which it closes when it ends. Its `Coordinator` is `app.state.coordinator`."""
    coordinator = Coordinator(store)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await coordinator.close()

    app = FastAPI(title="lockgate coordinator", version=version("lockgate-coordinator"), lifespan=lifespan, redirect_slashes=False)
    app.state.coordinator = coordinator
    errors.install(app)
    document.install(app)
    for subject in (groups, readers, reports, alignment, health):
        app.include_router(subject.router)
    app.add_middleware(LeanReports, coordinator=coordinator)
    return app
