"""The service behind tokens of every role."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from support.in_process import client_of
from support.tokens import FILE, Clock

Service = Callable[..., httpx.AsyncClient]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with all the tokens."""
    path = tmp_path / "tokens.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def service(file: Path, clock: Clock) -> Service:
    """Return a client of the service with these tokens; further settings as arguments."""

    def started(rate_limit: int | None = None) -> httpx.AsyncClient:
        app = create_app(MemoryStore(), Settings(tokens_file=file, rate_limit=rate_limit), clock=clock)
        return client_of(app)

    return started
