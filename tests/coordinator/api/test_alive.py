"""Whether the process lives is answered before tokens, hosts and routes, which cost more."""

import httpx
import pytest
from fastapi import FastAPI

from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore


@pytest.fixture
def app() -> FastAPI:
    """Return an application without routes."""
    made = create_app(MemoryStore())
    made.router.routes.clear()
    return made


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/livez", 200), ("POST", "/livez", 404), ("GET", "/readyz", 404)]
)
async def test_a_look_whether_the_process_lives_needs_no_route(
    app: FastAPI, method: str, path: str, status: int
) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        answer = await http.request(method, path)
    assert answer.status_code == status
    if status == 200:
        assert answer.json() == {"status": "live"}
