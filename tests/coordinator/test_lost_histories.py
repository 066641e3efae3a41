"""Coordinator processes whose Redis goes back in time while no connection of theirs is cut: they go
by what is true, and write nothing back.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.replicated import Replicated, replicated

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
CONFIG = {
    "max_drift_ms": 1_000,
    "lease_ms": 600_000,
    "update_interval_ms": 600_000,
    "catch_up": "strict",
    "on_lost_reader": "hold",
}
LOST = (50_000, 51_000)
TRUE = (100, 1_100)


@pytest.fixture
def redis() -> Iterator[Replicated]:
    with replicated() as servers:
        yield servers


class Reader:
    """A reader of subtask 0."""

    def __init__(self, at: CoordinatorProcess, source: str) -> None:
        self._path = f"{GROUP}/sources/{source}"
        answer = httpx.post(f"{at.url}{self._path}/readers", json={"subtask": 0}, timeout=60)
        self._epoch = answer.raise_for_status().json()["epoch"]

    def reports(self, at: CoordinatorProcess, watermark: int) -> tuple[int, int]:
        """Return the group's watermark and ceiling of the answer."""
        body = {"subtask": 0, "epoch": self._epoch, "watermark": watermark}
        answer = httpx.post(f"{at.url}{self._path}/watermarks", json=body, timeout=60)
        return of_event(answer.raise_for_status().json())


def of_event(event: dict[str, Any]) -> tuple[int, int]:
    return event["group_watermark"], event["max_desired_watermark"]


def seen_by(at: CoordinatorProcess) -> tuple[int, int]:
    return of_event(httpx.get(f"{at.url}{GROUP}/alignment", timeout=60).raise_for_status().json())


@contextmanager
def heard(at: CoordinatorProcess) -> Iterator[Callable[[tuple[int, int]], None]]:
    """Read an event stream until it says this."""
    with httpx.stream("GET", f"{at.url}{GROUP}/alignment/events", timeout=60) as answer:
        lines = answer.iter_lines()

        def until(expected: tuple[int, int]) -> None:
            ends = time.monotonic() + 60
            for line in lines:  # a heartbeat at the latest
                if line.startswith("data: ") and of_event(json.loads(line[6:])) == expected:
                    return
                assert time.monotonic() < ends, f"the stream has not said {expected}"

        yield until


def test_a_failover_to_a_replica_that_lags_and_back_brings_no_lost_watermark_back(redis: Replicated) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(CoordinatorProcess(redis.url("here"))) for _ in range(2))
        httpx.put(f"{first.url}{GROUP}", json=CONFIG, timeout=60).raise_for_status()
        slow = Reader(first, "slow")
        assert slow.reports(first, 100) == seen_by(second) == TRUE
        hears = stack.enter_context(heard(second))
        redis.promote_there()
        assert slow.reports(first, 50_000) == seen_by(second) == LOST
        hears(LOST)
        other = stack.enter_context(CoordinatorProcess(redis.url("there")))
        fast = Reader(other, "fast")
        assert fast.reports(other, 60_000) == TRUE
        redis.fail_back()
        hears(TRUE)
        assert [fast.reports(at, 60_001) for at in (second, first)] == [TRUE] * 2
        fresh = stack.enter_context(CoordinatorProcess(redis.url("here")))
        assert [seen_by(at) for at in (first, second, fresh)] == [TRUE] * 3
        assert slow.reports(second, 50_001) == fast.reports(first, 60_002) == (50_001, 51_001)


@pytest.mark.long
def test_flushall_and_restore_bring_no_lost_watermark_back(redis: Replicated) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(CoordinatorProcess(redis.url("here"))) for _ in range(2))
        httpx.put(f"{first.url}{GROUP}", json=CONFIG, timeout=60).raise_for_status()
        slow, fast = Reader(first, "slow"), Reader(second, "fast")
        slow.reports(first, 100)
        assert fast.reports(second, 60_000) == TRUE
        dumped = redis.dump()
        assert slow.reports(first, 50_000) == seen_by(second) == LOST
        redis.put_back_in_time(dumped)
        assert [fast.reports(at, 60_001) for at in (first, second)] == [TRUE] * 2
        assert seen_by(first) == seen_by(second) == TRUE
        assert "Redis has lost recent changes" in first.log.read_text() + second.log.read_text()
