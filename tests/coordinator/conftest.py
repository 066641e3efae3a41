"""Both stores, for every test that should hold over each, and the service in this process over
either.
"""

from collections.abc import AsyncIterator

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import Store, connections, open_store
from lockgate_coordinator.store.connections import TIMEOUT_S
from support.in_process import Service, client_of


@pytest.fixture(autouse=True)
def store_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long to answer, so this process waits long for Redis."""
    monkeypatch.setattr(connections, "TIMEOUT_S", 20.0)


@pytest.fixture
def own_store_timeout(store_timeout: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own timeout, for tests of it."""
    monkeypatch.setattr(connections, "TIMEOUT_S", TIMEOUT_S)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def store_address(request: pytest.FixtureRequest) -> str:
    """The address of an empty store of each kind."""
    if request.param == "memory":
        return "memory://"
    url: str = request.getfixturevalue("redis_server").url
    with Redis.from_url(url) as client:
        client.flushall()
    return url


@pytest.fixture
async def store(store_address: str) -> AsyncIterator[Store]:
    opened = open_store(store_address)
    yield opened
    await opened.close()


@pytest.fixture
async def api(store: Store) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole service, without a socket."""
    async with client_of(create_app(store)) as client:
        yield client


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """A coordinator over memory, at a time that the test sets."""
    service = Service()
    async with service.http:
        yield service
