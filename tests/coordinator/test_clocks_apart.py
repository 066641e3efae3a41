"""Replicas whose own clocks are wrong, over one Redis: revisions, epochs and leases are by the
Redis's clock.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.children import doing_first

HOUR_S = 3_600
LEASE_MS = 1_500
GROUP = "/v1/groups/clocks"
LONG_MS = 600_000
"""Until all has been looked at: machines pause. And so long an update interval that no pause of all
is taken for an outage.
"""

CONFIG = {"lease_ms": LONG_MS, "update_interval_ms": LONG_MS, "catch_up": "strict", "max_drift_ms": 10}
WRONG_CLOCK = """
import time
right, right_ns = time.time, time.time_ns
time.time = lambda: right() + {off_s}
time.time_ns = lambda: right_ns() + {off_s} * 10**9
"""


class Reader:
    """A reader of subtask 0."""

    def __init__(self, at: httpx.Client, source: str) -> None:
        self._path = f"{GROUP}/sources/{source}"
        self.epoch: int = at.post(f"{self._path}/readers", json={"subtask": 0}).raise_for_status().json()["epoch"]

    def reports(self, at: httpx.Client, watermark: int) -> dict[str, int]:
        body = {"subtask": 0, "epoch": self.epoch, "watermark": watermark}
        event: dict[str, int] = at.post(f"{self._path}/watermarks", json=body).raise_for_status().json()
        return event


@pytest.fixture
def replicas(redis_server: RedisServer, tmp_path: Path) -> Iterator[list[httpx.Client]]:
    """Yield the clock of the first one is an hour ahead, that of the second one an hour behind."""
    with ExitStack() as stack:
        opened = []
        for name, off_s in (("ahead", HOUR_S), ("behind", -HOUR_S)):
            (tmp_path / name).mkdir()
            env = doing_first(tmp_path / name, WRONG_CLOCK.format(off_s=off_s))
            process = stack.enter_context(CoordinatorProcess(redis_server.url, env=env))
            opened.append(stack.enter_context(httpx.Client(base_url=process.url, timeout=30)))
        yield opened


def test_leases_end_by_the_clock_of_redis_at_replicas_that_are_an_hour_off(
    redis_server: RedisServer, replicas: list[httpx.Client]
) -> None:
    ahead, behind = replicas
    dates = [parsedate_to_datetime(replica.get("/livez").headers["date"]).timestamp() for replica in replicas]
    assert 2 * HOUR_S - 60 < dates[0] - dates[1] < 2 * HOUR_S + 60  # else this shows nothing
    with Redis.from_url(redis_server.url) as client:
        client.flushall()

        def now_ms() -> int:
            seconds, microseconds = client.time()
            return int(seconds * 1_000 + microseconds // 1_000)

        began = now_ms()
        ahead.put(GROUP, json=CONFIG)
        dies, lives = Reader(ahead, "dies"), Reader(behind, "lives")
        dies.reports(behind, 50)
        event = lives.reports(ahead, 1_000)
        silent_since = now_ms()
        assert event["group_watermark"] == 50
        assert (
            began - CACHED_WITHIN_MS
            <= min(dies.epoch, lives.epoch)
            <= event["revision"]
            <= silent_since + CACHED_WITHIN_MS
        )
        for replica in replicas:
            (seen,) = replica.get(f"{GROUP}/sources/dies").json()["readers"]
            assert (seen["state"], 0 < seen["lease_left_ms"] <= LONG_MS) == ("active", True)
        ahead.put(GROUP, json=CONFIG | {"lease_ms": LEASE_MS})  # for each with its next word
        began = now_ms()
        dies.reports(behind, 50)
        silent_since = now_ms()
        while event["group_watermark"] == 50:
            asked = now_ms()
            event = lives.reports(behind, 1_000)
            lives.reports(ahead, 1_000)
            assert event["group_watermark"] != 50 or asked <= silent_since + LEASE_MS + CACHED_WITHIN_MS
        assert event["revision"] >= began + LEASE_MS - CACHED_WITHIN_MS
        for replica in replicas:
            assert replica.get(f"{GROUP}/sources/dies").json()["readers"][0]["state"] == "lost"
