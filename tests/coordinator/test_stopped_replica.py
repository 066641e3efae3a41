"""One of two coordinators is stopped for longer than a lease. The proxy before them leads a reader
that repeats its unanswered report to the other one, and none is lost.
"""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.proxied import HAPROXY, MISSING, proxied

pytestmark = [pytest.mark.redis, pytest.mark.skipif(HAPROXY is None, reason=MISSING)]

GROUP = "/v1/groups/stopped-replica"
LEASE_MS = 10_000
"""More than the 4 s within which the proxy takes a silent coordinator out."""

CONFIG = {"lease_ms": LEASE_MS, "update_interval_ms": 600_000, "catch_up": "strict", "max_drift_ms": 10}
"""The interval is so long that no silence is taken for an outage of all."""


class Reader:
    """A reader who waits a second for an answer, and then asks again."""

    def __init__(self, proxy: str, source: str, watermark: int) -> None:
        self._path = f"{proxy}{GROUP}/sources/{source}"
        answer = httpx.post(f"{self._path}/readers", json={"subtask": 0}, timeout=60).raise_for_status()
        self._report = {"subtask": 0, "epoch": answer.json()["epoch"], "watermark": watermark}

    def reports(self) -> int:
        """Return the ceiling of the answer."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            try:
                answer = httpx.post(f"{self._path}/watermarks", json=self._report, timeout=1)
            except httpx.TransportError:
                continue
            return int(answer.raise_for_status().json()["max_desired_watermark"])
        raise AssertionError("no coordinator has answered for a minute")


@pytest.mark.long
def test_readers_behind_a_proxy_outlive_a_stop_of_one_coordinator(redis_server: RedisServer, tmp_path: Path) -> None:
    with ExitStack() as stack:
        stopped, other = (stack.enter_context(CoordinatorProcess(redis_server.url)) for _ in range(2))
        proxy = stack.enter_context(proxied(tmp_path, stopped, other))
        httpx.put(f"{proxy}{GROUP}", json=CONFIG, timeout=60).raise_for_status()
        slow, fast = Reader(proxy, "slow", 50), Reader(proxy, "fast", 1_000)
        slow.reports()
        assert {reader.reports() for reader in (slow, fast) * 4} == {60}
        assert stopped.pid is not None
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            until = time.monotonic() + 2 * LEASE_MS / 1_000

            def long_enough() -> bool:
                assert [fast.reports(), slow.reports()] == [60, 60]
                return time.monotonic() > until

            wait_for(long_enough)
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        assert {reader.reports() for reader in (fast, slow) * 4} == {60}
        assert ["reader lost" in process.log.read_text() for process in (stopped, other)] == [False, False]
