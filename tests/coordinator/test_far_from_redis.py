"""A coordinator that is farther from Redis than a busy one gets its commits through."""

import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.redis import RedisServer
from support.http_readers import HttpReader

pytestmark = pytest.mark.redis

REPORTS = 3


class Busy:
    """`with Busy(url)`: reader 0 of `orders` reports there without a pause."""

    def __init__(self, url: str) -> None:
        self._reader = HttpReader(url, "g", "orders", owner="me")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._report)
        self.answered = threading.Semaphore(0)

    def __enter__(self) -> "Busy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _report(self) -> None:
        watermark = 2_000
        while not self._ended.is_set():
            watermark += 1
            self._reader.report(watermark)
            self.answered.release()


@pytest.fixture
def coordinators() -> Iterator[tuple[str, str, Link]]:
    """Yield the addresses of one beside Redis and one behind a link, and the link."""
    with (
        RedisServer() as redis,
        Link(urlsplit(redis.url).port or 0) as link,
        CoordinatorProcess(redis.url) as near,
        CoordinatorProcess(f"redis://127.0.0.1:{link.port}/0") as far,
    ):
        yield near.url, far.url, link


@pytest.mark.parametrize("round_trip_ms", [pytest.param(60, marks=pytest.mark.long), 300])
def test_reports_far_from_redis_are_answered_beside_a_busy_coordinator(
    coordinators: tuple[str, str, Link], round_trip_ms: int
) -> None:
    near, far, link = coordinators
    config = {"max_drift_ms": 1_000, "catch_up": "strict", "lease_ms": 5_000}
    reader = HttpReader(far, "g", "orders", 1, owner="me", config=config)
    with Busy(near) as busy:
        assert busy.answered.acquire(timeout=30)
        link.slow(round_trip_ms / 2_000)
        took = list[float]()
        for number in range(REPORTS):
            began = time.monotonic()
            answer = reader.report(1_000 + number)
            took.append(time.monotonic() - began)
            assert answer["max_desired_watermark"] == 2_000 + number
        link.resume()
    assert max(took) < 12 * round_trip_ms / 1_000 + 1
