"""Dangers are in the log once, and once more when they are resolved."""

import os
import resource
from collections.abc import Iterator

import pytest

from lockgate_coordinator.dangers import Dangers, few_descriptors


async def test_danger_is_logged_once_and_when_it_is_resolved(caplog: pytest.LogCaptureFixture) -> None:
    found = iter([[], ["a", "b"], ["b", "a"], None, ["b"], []])

    async def look() -> list[str] | None:
        return next(found)

    dangers = Dangers(look)
    for _ in range(6):
        await dangers.look()
    assert caplog.messages == ["a", "b", "resolved: a", "resolved: b"]


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """Yield how many file descriptors this process may have, and set that again."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_file_descriptors_are_a_danger_if_less_than_a_tenth_is_left(limits: tuple[int, int]) -> None:
    assert await few_descriptors() == []
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + used // 10, limits[1]))
    (danger,) = await few_descriptors()
    assert danger.startswith(f"nearly all of {used + used // 10} file descriptors are in use")
