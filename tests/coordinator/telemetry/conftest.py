"""Coordinators as processes, whose log is JSON; and a service in this process that is scraped."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore, Store
from lockgate_testbed.coordinator import CoordinatorProcess
from support.scraped import Clock, Service

JSON_LINES = ("--log-format", "json")


@pytest.fixture(scope="module", params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def replicas(request: pytest.FixtureRequest) -> Iterator[list[CoordinatorProcess]]:
    """One over memory, and two over one Redis."""
    if request.param == "memory":
        with CoordinatorProcess(options=JSON_LINES) as alone:
            yield [alone, alone]
    else:
        store = request.getfixturevalue("redis_server").url
        with Redis.from_url(store) as client:
            client.flushall()
        replica = partial(CoordinatorProcess, store, options=JSON_LINES)
        with replica() as one, replica() as other:
            yield [one, other]


@pytest.fixture
def started() -> Callable[..., Service]:
    clock = Clock()

    def start(settings: Settings = Settings(), store: Store | None = None) -> Service:  # noqa: B008 – frozen
        app = create_app(MemoryStore(clock) if store is None else store, settings)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        return Service(httpx.AsyncClient(transport=transport, base_url="http://coordinator"), clock)

    return start


@pytest.fixture
async def service(started: Callable[..., Service]) -> AsyncIterator[Service]:
    found = started()
    yield found
    await found.http.aclose()
