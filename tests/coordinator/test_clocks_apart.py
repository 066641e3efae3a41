"""Replicas whose own clocks are wrong, over one Redis: revisions, epochs and leases are by the
Redis's clock.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.children import doing_first
from support.http_readers import HttpReader

HOUR_S = 3_600
LEASE_MS = 1_500
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


@pytest.fixture
def replicas(redis_server: RedisServer, tmp_path: Path) -> Iterator[list[str]]:
    """Yield the clock of the first one is an hour ahead, that of the second one an hour behind."""
    with ExitStack() as stack:
        opened = []
        for name, off_s in (("ahead", HOUR_S), ("behind", -HOUR_S)):
            (tmp_path / name).mkdir()
            env = doing_first(tmp_path / name, WRONG_CLOCK.format(off_s=off_s))
            opened.append(stack.enter_context(CoordinatorProcess(redis_server.url, env=env)).url)
        yield opened


def readers_of(url: str, source: str) -> Any:
    return httpx.get(f"{url}/v1/groups/clocks/sources/{source}", timeout=60).json()["readers"]


def test_leases_end_by_redis_clock_at_replicas_an_hour_off(redis_server: RedisServer, replicas: list[str]) -> None:
    ahead, behind = replicas
    dates = [
        parsedate_to_datetime(httpx.get(f"{replica}/livez", timeout=60).headers["date"]).timestamp()
        for replica in replicas
    ]
    assert 2 * HOUR_S - 60 < dates[0] - dates[1] < 2 * HOUR_S + 60  # else this shows nothing
    with Redis.from_url(redis_server.url) as client:
        client.flushall()

        def now_ms() -> int:
            seconds, microseconds = client.time()
            return int(seconds * 1_000 + microseconds // 1_000)

        began = now_ms()
        dies = HttpReader(ahead, "clocks", "dies", config=CONFIG)
        lives = HttpReader(behind, "clocks", "lives")
        dies.report(50, at=behind)
        event = lives.report(1_000, at=ahead)
        silent_since = now_ms()
        assert event["group_watermark"] == 50
        assert (
            began - CACHED_WITHIN_MS
            <= min(dies.epoch, lives.epoch)
            <= event["revision"]
            <= silent_since + CACHED_WITHIN_MS
        )
        for replica in replicas:
            (seen,) = readers_of(replica, "dies")
            assert (seen["state"], 0 < seen["lease_left_ms"] <= LONG_MS) == ("active", True)
        shorter = CONFIG | {"lease_ms": LEASE_MS}  # for each with its next word
        httpx.put(f"{ahead}/v1/groups/clocks", json=shorter, timeout=60).raise_for_status()
        began = now_ms()
        dies.report(50, at=behind)
        silent_since = now_ms()
        while event["group_watermark"] == 50:
            asked = now_ms()
            event = lives.report(1_000, at=behind)
            lives.report(1_000, at=ahead)
            assert event["group_watermark"] != 50 or asked <= silent_since + LEASE_MS + CACHED_WITHIN_MS
        assert event["revision"] >= began + LEASE_MS - CACHED_WITHIN_MS
        for replica in replicas:
            assert readers_of(replica, "dies")[0]["state"] == "lost"
