"""The application: a store in, an ASGI application out. Nothing is built at import time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from time import monotonic

from fastapi import FastAPI

from lockgate_coordinator.access.guard import Guard
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.rate import RateLimit
from lockgate_coordinator.api import alignment, document, errors, groups, health, readers, reports
from lockgate_coordinator.api.lean import LeanReports
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Store


def create_app(store: Store, settings: Settings = Settings(), *, clock: Callable[[], float] = monotonic) -> FastAPI:  # noqa: B008 – frozen
    """The service over `store`, which it closes when it ends. `app.state` has its `coordinator` and its `settings`.

    `clock` gives the monotonic seconds that tokens and their rates go by. Raises `InvalidTokens`.
    """
    coordinator = Coordinator(store)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await coordinator.close()

    app = FastAPI(title="lockgate coordinator", version=version("lockgate-coordinator"), lifespan=lifespan, redirect_slashes=False)
    app.state.coordinator = coordinator
    app.state.settings = settings
    errors.install(app)
    document.install(app)
    for subject in (groups, readers, reports, alignment, health):
        app.include_router(subject.router)
    app.add_middleware(LeanReports, coordinator=coordinator)
    if settings.guarded:  # the last one added is the outermost: all the others stand behind the guard
        keyring = Keyring(settings.tokens_file, settings.tokens, clock)
        rate = None if settings.rate_limit is None else RateLimit(settings.rate_limit, clock)
        app.add_middleware(Guard, keyring=keyring, rate=rate, answer=errors.problem)
    return app
