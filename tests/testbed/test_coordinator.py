from urllib.request import urlopen

import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.errors import ChildFailed


def ready(coordinator: CoordinatorProcess) -> bool:
    """Whether the service says that it can do its work."""
    with urlopen(f"{coordinator.url}/readyz", timeout=10) as answer:
        return bool(answer.status == 200)


def test_a_coordinator_comes_back_on_its_address() -> None:
    with CoordinatorProcess() as coordinator:
        before = coordinator.url
        assert ready(coordinator)

        coordinator.kill()
        coordinator.start()

        assert coordinator.url == before
        assert ready(coordinator)


def test_a_coordinator_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(ChildFailed, match=r"the coordinator ended with exit code 1(.|\n)*the store must be memory://"),
        CoordinatorProcess(store="the store must be memory://"),
    ):
        pass
