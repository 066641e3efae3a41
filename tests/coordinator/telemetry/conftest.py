"""Coordinators as processes, whose log is JSON."""

from collections.abc import Iterator
from functools import partial

import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess

JSON_LINES = ("--log-format", "json")


@pytest.fixture(scope="module", params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def replicas(request: pytest.FixtureRequest) -> Iterator[list[CoordinatorProcess]]:
    """One over memory, and two over one Redis."""
    if request.param == "memory":
        with CoordinatorProcess(options=JSON_LINES) as alone:
            yield [alone, alone]
    else:
        store = request.getfixturevalue("redis_server").url
        with Redis.from_url(store) as client:
            client.flushall()
        replica = partial(CoordinatorProcess, store, options=JSON_LINES)
        with replica() as one, replica() as other:
            yield [one, other]
