"""One stack for all tests here; a test that takes something away brings it back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compose.stack import DockerMissing, NotUp, Stack, fresh_clone, require_docker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What stands here needs Docker, and minutes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("compose")


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole file but for its profiles, up from nothing."""
    with brought_up(Stack(fresh_clone(tmp_path_factory.mktemp("clone"))), request) as running:
        yield running


@contextmanager
def brought_up(running: Stack, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """Up inside `with`. Where that fails, or Docker is missing, nothing else is tried: the run ends
    with what to do about it.
    """
    try:
        require_docker()
    except DockerMissing as missing:
        pytest.exit(str(missing), returncode=1)
    try:
        running.start()
        yield running
        if request.session.testsfailed:
            print(running.logs())
    except NotUp as failed:
        pytest.exit(str(failed), returncode=1)
    finally:
        running.remove()
