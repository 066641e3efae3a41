"""Fixtures of the clients' tests: one coordinator for all, and a group of its own for each."""

from collections.abc import Iterator

import pytest

from lockgate_http.group.membership import Membership
from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import at, create, member


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


@pytest.fixture
def group(url: str, topic: str) -> str:
    """Strict, and so slow that nothing happens by itself."""
    create(url, topic)
    return topic


@pytest.fixture
def peer(url: str, group: str) -> Iterator[Membership]:
    """Somebody else in the group, who stands at 0; so the ceiling is a minute."""
    with member(url, group, "peer") as peer:
        peer.exchange(at(0))
        yield peer
