"""Coordinators as processes, whose log is JSON."""

from collections.abc import Iterator
from functools import partial

import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

JSON_LINES = ("--log-format", "json")


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def replicas(request: pytest.FixtureRequest) -> Iterator[list[CoordinatorProcess]]:
    """One over memory, and two over one Redis."""
    if request.param == "memory":
        with CoordinatorProcess(options=JSON_LINES) as alone:
            yield [alone, alone]
    else:
        request.getfixturevalue("redis_server")
        replica = partial(CoordinatorProcess, options=JSON_LINES)
        with RedisServer() as redis, replica(redis.url) as one, replica(redis.url) as other:
            yield [one, other]
