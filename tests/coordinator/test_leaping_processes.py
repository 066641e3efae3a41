"""Two coordinator processes over a real Redis whose clock leaps by more than a lease, with a scrape
in between and without one: no ceiling that anybody is told rises. (With more leaps:
service/test_leaping_clock.py.)
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.children import doing_first
from support.leaping import AHEAD, IN_A_PROCESS

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": 10, "lease_ms": 120_000, "update_interval_ms": 40_000, "catch_up": "strict"}
LEAPS_S = [130, 3_600, -3_600, 86_400, -86_400]


class Reader:
    """A reader of subtask 0."""

    def __init__(self, at: CoordinatorProcess, source: str, watermark: int) -> None:
        self._path = f"{GROUP}/sources/{source}"
        answer = httpx.post(f"{at.url}{self._path}/readers", json={"subtask": 0}, timeout=60)
        self._body = {"subtask": 0, "epoch": answer.raise_for_status().json()["epoch"], "watermark": watermark}

    def reports(self, at: CoordinatorProcess) -> int:
        """Return the ceiling that answers the report."""
        answer = httpx.post(f"{at.url}{self._path}/watermarks", json=self._body, timeout=60)
        return int(answer.raise_for_status().json()["max_desired_watermark"])


@pytest.fixture
def processes(redis_server: RedisServer, tmp_path: Path) -> Iterator[list[CoordinatorProcess]]:
    with Redis.from_url(redis_server.url) as client, ExitStack() as stack:
        client.flushall()
        env = doing_first(tmp_path, IN_A_PROCESS)
        yield [stack.enter_context(CoordinatorProcess(redis_server.url, env=env)) for _ in range(2)]
        client.flushall()


def ceilings_of_a_scrape(at: CoordinatorProcess) -> list[int]:
    """In ms, those of all groups at `/metrics`."""
    lines = httpx.get(f"{at.url}/metrics", timeout=60).text.splitlines()
    name = "lockgate_group_max_desired_watermark_timestamp_seconds{"
    return [round(float(line.split()[-1]) * 1_000) for line in lines if line.startswith(name)]


def states(at: CoordinatorProcess) -> set[str]:
    found = httpx.get(f"{at.url}{GROUP}", timeout=60).raise_for_status().json()["sources"]
    return {reader["state"] for source in found for reader in source["readers"]}


@pytest.mark.parametrize("scraped", [False, True], ids=["no scrape", "a scrape first"])
def test_readers_that_are_heard_keep_their_ceiling_whichever_way_the_clock_of_redis_leaps(
    redis_server: RedisServer, processes: list[CoordinatorProcess], scraped: bool
) -> None:
    first, second = processes
    httpx.put(f"{first.url}{GROUP}", json=CONFIG, timeout=60).raise_for_status()
    slow, fast = Reader(first, "slow", 5), Reader(second, "fast", 100)
    slow.reports(first)
    assert fast.reports(second) == slow.reports(first) == 15
    with Redis.from_url(redis_server.url) as client:
        for leap_s in LEAPS_S:
            client.incrby(AHEAD, leap_s)
            if scraped:
                assert [ceilings_of_a_scrape(at) for at in processes] == [[15], [15]]
                assert states(first) == states(second) == {"active"}
            assert [fast.reports(second), slow.reports(first), fast.reports(first)] == [15] * 3
    for process in processes:
        log = process.log.read_text()
        assert "its clock has jumped" in log
        assert "reader lost" not in log
