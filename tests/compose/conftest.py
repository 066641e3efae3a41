"""One stack for all tests here; a test that takes something away brings it back."""

from collections.abc import Iterator
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
    """Up, from nothing. Where that fails, or Docker is missing, nothing else is tried: the run ends with what to do about it."""
    running = Stack(fresh_clone(tmp_path_factory.mktemp("clone")))
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
