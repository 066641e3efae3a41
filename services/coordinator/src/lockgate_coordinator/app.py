"""The ASGI application of the coordinator, which `create_app` returns."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate import __version__
from lockgate.group.expiry import Expiry
from lockgate_coordinator.access.browsers import Browsers
from lockgate_coordinator.access.guard import Guard
from lockgate_coordinator.access.keyring import Keyring
from lockgate_coordinator.access.rate import RateLimit
from lockgate_coordinator.api import (
    alignment_events,
    document,
    groups,
    journal,
    problems,
    process,
    readers,
    reports,
    source_pauses,
    splits,
)
from lockgate_coordinator.dashboard import pages
from lockgate_coordinator.probes import Alive
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.expiring import keep_removing
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Store
from lockgate_coordinator.telemetry import traces
from lockgate_coordinator.telemetry.history import TurnHistory
from lockgate_coordinator.telemetry.metrics import Metrics
from lockgate_coordinator.telemetry.requests import MeasuredRequests

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class Service(FastAPI):
    """A FastAPI application that can have middleware in front of it.

    FastAPI runs its own middleware inside its error handling, which alone costs more than all other
    work on a report. So reports are answered by middleware in front of FastAPI.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._entrance: ASGIApp = super().__call__

    def before(self, middleware: Callable[..., ASGIApp], **arguments: Any) -> None:
        """Add `middleware` in front of any added earlier. It is called with the application behind
        it, and with `arguments`.
        """
        self._entrance = middleware(self._entrance, **arguments)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the middleware that was added last."""
        await self._entrance(scope, receive, send)


def create_app(
    store: Store,
    settings: Settings = Settings(),  # noqa: B008 – frozen
    *,
    clock: Callable[[], float] = monotonic,
    spans: "TracerProvider | None" = None,
) -> FastAPI:
    """Return the application that serves the groups in `store`.

    The application closes the store when it shuts down. Its `state` contains the `coordinator`, the
    `settings` and the `metrics`. Raises `InvalidTokens` if a token, or the file of tokens, is
    invalid.

    Args:
        store: The store with the groups.
        settings: The operator's settings.
        clock: A function that returns monotonic seconds, for the token file and rate limits.
        spans: A provider that gets a span for each request, and is flushed at shutdown.
    """
    counted = Metrics(store)
    coordinator = Coordinator(
        counted.store,
        [counted.journal, *([] if settings.history is None else [TurnHistory(settings.history)])],
        max_watchers=settings.max_subscribers,
        limits=settings.limits,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        removing = asyncio.create_task(keep_removing(coordinator, Expiry()))
        yield
        removing.cancel()
        await coordinator.close()
        if spans is not None:
            await traces.end(spans)

    app = Service(
        title="lockgate coordinator",
        version=__version__,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's pages of the API load scripts from other hosts
        redoc_url=None,
    )
    app.state.coordinator = coordinator
    app.state.settings = settings
    app.state.metrics = counted
    problems.install(app)
    document.install(app)
    for subject in (groups, journal, source_pauses, readers, reports, splits, alignment_events, process):
        app.include_router(subject.router)
    shown = pages.routes() if settings.dashboard else []
    app.router.routes.extend(shown)
    app.before(
        reports.ReportRoutes, coordinator=coordinator, limit=settings.limits.report_body, in_turn=coordinator.in_turn
    )
    # The middleware added last gets requests first: the guard comes before the routes of reports.
    if settings.guarded:
        keyring = Keyring(settings.tokens_file, settings.tokens, clock)
        rate = None if settings.rate_limit is None else RateLimit(settings.rate_limit, clock)
        app.before(
            Guard,
            keyring=keyring,
            rate=rate,
            most_waiting=max(1, settings.max_subscribers // 2),
            answer=problems.problem,
            public=[page.path for page in shown],
        )
    else:
        app.before(Browsers, hosts=settings.allowed_hosts, answer=problems.problem)
    app.before(Alive)
    app.before(MeasuredRequests, figures=counted.requests)
    if spans is not None:
        app.before(traces.traced, spans=spans)
    return app
