"""The service as its operator runs it: processes that are killed, stopped, doubled, and a Redis
that goes away.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": 10, "update_interval_ms": 200, "catch_up": "strict"}


class Reader:
    """One reader of one source, over a connection of its own."""

    def __init__(self, url: str, source: str, **registration: Any) -> None:
        self.source = source
        self.http = httpx.Client(base_url=url, timeout=60)
        answer = self.http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0, **registration})
        assert answer.status_code == 201, answer.text
        self.epoch = answer.json()["epoch"]

    def reports(self, watermark: int, **more: Any) -> httpx.Response:
        body = {"subtask": 0, "epoch": self.epoch, "watermark": watermark, **more}
        return self.http.post(f"{GROUP}/sources/{self.source}/watermarks", json=body)

    def polls(self, after: int, wait_ms: int) -> httpx.Response:
        return self.http.get(f"{GROUP}/alignment", params={"after": after, "wait_ms": wait_ms}, timeout=90)


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Yield a Redis of the test's own, which keeps what it was told."""
    assert redis_server.pid, "whether there is any is the shared one's matter"
    with RedisServer(options=("--appendonly", "yes", "--appendfsync", "always")) as own:
        yield own


@pytest.fixture(scope="module")
def both(redis_server: RedisServer) -> Iterator[tuple[str, str]]:
    with CoordinatorProcess(redis_server.url) as first, CoordinatorProcess(redis_server.url) as second:
        yield first.url, second.url


@pytest.fixture
def replicas(both: tuple[str, str]) -> tuple[str, str]:
    """Two coordinators over one Redis, without the group of the test before."""
    httpx.delete(f"{both[0]}{GROUP}", timeout=60)
    return both


def test_two_processes_over_one_redis_are_one_coordinator(replicas: tuple[str, str]) -> None:
    first, second = replicas
    with ThreadPoolExecutor() as threads:
        httpx.put(f"{first}{GROUP}", json=CONFIG, timeout=60)
        a, b = Reader(first, "a"), Reader(second, "b")
        a.reports(100)
        event = b.reports(50).json()
        assert a.reports(100).json() == event
        woken = threads.submit(Reader(first, "idle").polls, event["revision"], 60_000)
        moved = b.reports(60)
        assert woken.result(30).json() == moved.json()
        assert moved.json()["max_desired_watermark"] == 70


def test_a_poll_at_one_process_learns_of_a_report_at_the_other_within_one_update_interval(
    replicas: tuple[str, str],
) -> None:
    first, second = replicas
    with ThreadPoolExecutor() as threads:
        httpx.put(f"{first}{GROUP}", json=CONFIG | {"update_interval_ms": 8_000}, timeout=60)
        a, b = Reader(first, "a"), Reader(second, "b")
        revision = a.reports(5).json()["revision"]
        waiting = threads.submit(a.polls, revision, 60_000)
        # by then the other poll is waiting
        assert Reader(first, "idle").polls(revision, 100).status_code == 204
        reported, reported_at = b.reports(3), time.monotonic()
        assert waiting.result(30).json() == reported.json()
        assert time.monotonic() - reported_at < 8


def test_reports_at_two_processes_at_once_are_all_kept(replicas: tuple[str, str]) -> None:
    first, second = replicas
    with ThreadPoolExecutor(8) as threads:
        readers = [Reader(url, f"s{index}-{side}") for index in range(4) for side, url in enumerate((first, second))]

        def report_ten_times(reader: Reader) -> set[int]:
            return {reader.reports(1_000 + turn).status_code for turn in range(10)}

        assert set.union(*threads.map(report_ten_times, readers)) == {200}
        sources = httpx.get(f"{first}{GROUP}", timeout=60).json()["sources"]
        assert [source["readers"][0]["watermark"] for source in sources] == [1_009] * 8


@pytest.mark.long
def test_without_redis_the_service_lives_says_503_and_recovers_by_itself_with_its_groups(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as coordinator:
        reader = Reader(coordinator.url, "a")
        event = reader.reports(5).json()
        redis.stop()
        refused = reader.reports(6)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:lockgate:store-unavailable")
        assert int(refused.headers["Retry-After"]) >= 1
        assert httpx.get(f"{coordinator.url}/readyz", timeout=60).status_code == 503
        assert httpx.get(f"{coordinator.url}/livez", timeout=60).status_code == 200
        redis.start()
        assert httpx.get(f"{coordinator.url}/readyz", timeout=60).status_code == 200
        assert reader.reports(5).json() == event


@pytest.mark.long
def test_a_poll_that_waits_when_redis_goes_is_told_so(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as coordinator, ThreadPoolExecutor() as threads:
        reader = Reader(coordinator.url, "a")
        revision = reader.reports(5).json()["revision"]
        waiting = threads.submit(reader.polls, revision, 60_000)
        assert Reader(coordinator.url, "idle").polls(revision, 100).status_code == 204
        redis.stop()
        assert waiting.result(30).status_code == 503


@pytest.mark.long
def test_a_flushed_redis_gives_unknown_groups_and_higher_epochs(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as coordinator:
        reader = Reader(coordinator.url, "a")
        with Redis.from_url(redis.url) as client:
            client.flushall()
        assert reader.reports(5).json()["type"] == "urn:lockgate:unknown-group"
        assert Reader(coordinator.url, "a").epoch > reader.epoch


def test_after_a_crash_with_all_data_nobody_runs_above_what_was_last_told() -> None:
    with CoordinatorProcess() as coordinator:
        httpx.put(f"{coordinator.url}{GROUP}", json=CONFIG, timeout=60)
        a, b = Reader(coordinator.url, "a"), Reader(coordinator.url, "b")
        a.reports(1_000)
        told = b.reports(50).json()
        coordinator.kill()
        coordinator.start()
        assert a.reports(1_000).json()["type"] == "urn:lockgate:unknown-group"
        back = Reader(coordinator.url, "a", config=CONFIG, ceiling=told["max_desired_watermark"])
        event = back.reports(1_000).json()
        assert (event["group_watermark"], event["max_desired_watermark"]) == (1_000, 60)
        assert event["revision"] > told["revision"]
        assert back.epoch > a.epoch
        config = httpx.get(f"{coordinator.url}{GROUP}", timeout=60).json()["config"]
        assert {key: config[key] for key in CONFIG} == CONFIG


def test_sigterm_ends_long_polls_and_the_process_within_5_seconds() -> None:
    with CoordinatorProcess() as coordinator, ThreadPoolExecutor() as threads:
        reader = Reader(coordinator.url, "a")
        revision = reader.reports(5).json()["revision"]
        waiting = threads.submit(reader.polls, revision, 60_000)
        assert Reader(coordinator.url, "idle").polls(revision, 100).status_code == 204
        assert coordinator.pid is not None
        ended = threading.Timer(5, os.kill, (coordinator.pid, signal.SIGKILL))
        ended.start()
        os.kill(coordinator.pid, signal.SIGTERM)
        assert waiting.result(30).status_code == 204
        coordinator.stop()
        assert not ended.finished.is_set(), "it had to be killed after 5 seconds"
        ended.cancel()
