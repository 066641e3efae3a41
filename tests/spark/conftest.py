"""One coordinator for all tests of the client, and a group of its own for each."""

from collections.abc import Iterator

import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import create


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


@pytest.fixture
def group(url: str, topic: str) -> str:
    """Strict, and so slow that nothing happens by itself."""
    create(url, topic)
    return topic
