"""A coordinator that is farther from Redis than a busy one gets its commits through."""

import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.redis import RedisServer

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
WATERMARKS = f"{GROUP}/sources/orders/watermarks"
REPORTS = 3


class Busy:
    """`with Busy(url)`: reader 0 of `orders` reports there, one report after the other, each with
    another watermark.
    """

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=30)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._report)
        self.answered = threading.Semaphore(0)

    def __enter__(self) -> "Busy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._http.close()

    def _report(self) -> None:
        epoch = registered(self._http, 0)
        watermark = 2_000
        while not self._ended.is_set():
            watermark += 1
            body = {"subtask": 0, "epoch": epoch, "watermark": watermark}
            self._http.post(WATERMARKS, json=body).raise_for_status()
            self.answered.release()


def registered(http: httpx.Client, subtask: int) -> int:
    answer = http.post(f"{GROUP}/sources/orders/readers", json={"subtask": subtask, "owner": "me"})
    return int(answer.raise_for_status().json()["epoch"])


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
    with httpx.Client(base_url=far, timeout=30) as http:
        http.put(GROUP, json={"max_drift_ms": 1_000, "catch_up": "strict", "lease_ms": 5_000}).raise_for_status()
        epoch = registered(http, 1)
        with Busy(near) as busy:
            assert busy.answered.acquire(timeout=30)
            link.slow(round_trip_ms / 2_000)
            took = list[float]()
            for number in range(REPORTS):
                began = time.monotonic()
                body = {"subtask": 1, "epoch": epoch, "watermark": 1_000 + number}
                answer = http.post(WATERMARKS, json=body).raise_for_status().json()
                took.append(time.monotonic() - began)
                assert answer["max_desired_watermark"] == 2_000 + number
            link.resume()
    assert max(took) < 12 * round_trip_ms / 1_000 + 1
