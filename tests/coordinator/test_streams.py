"""Server-Sent Events of real coordinator processes over real sockets."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX
from lockgate_coordinator.server import GRACE_S, SEND_BUFFER
from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for

KEPT_FOR_ONE = 2 * SEND_BUFFER + 128 * 1024
"""Bytes for a subscriber that does not read: the system's for this connection, the server's, and
those on the way.
"""

CONFIG = {"lease_ms": 60_000, "update_interval_ms": 200, "catch_up": "strict", "max_drift_ms": 10}


@pytest.fixture(scope="module")
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as process:
        yield process


@pytest.fixture
def group(coordinator: CoordinatorProcess, request: pytest.FixtureRequest) -> str:
    """Return the URL of a fresh group with one reader of source `a`, which has not reported yet."""
    return made(f"{coordinator.url}/v1/groups/g-{abs(hash(request.node.name))}")


def made(group: str, **config: Any) -> str:
    httpx.put(group, json={**CONFIG, **config}, timeout=60).raise_for_status()
    return group


class Reader:
    """A reader that reports."""

    def __init__(self, group: str, source: str = "a") -> None:
        self._url = f"{group}/sources/{source}"
        self._client = httpx.Client(timeout=60)
        self._epoch = self._client.post(f"{self._url}/readers", json={"subtask": 0}).json()["epoch"]

    def report(self, watermark: int, at: str = "") -> dict[str, Any]:
        answer = self._client.post(
            f"{self._url}/watermarks", json={"subtask": 0, "epoch": self._epoch, "watermark": watermark}
        )
        event: dict[str, Any] = answer.raise_for_status().json()
        return event


class Events:
    """What a stream sends, event by event."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def next(self) -> dict[str, Any]:
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and fields:
                assert fields["event"] == "alignment"
                event: dict[str, Any] = json.loads(fields["data"])
                assert int(fields["id"]) == event["revision"]
                return event
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
        raise EOFError("the stream has ended")


@contextmanager
def stream(group: str, last: int | str | None = None) -> Iterator[Events]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with httpx.stream("GET", f"{group}/alignment/events", headers=headers, timeout=60) as response:
        yield Events(response)


def test_a_stream_begins_with_the_event_that_holds_and_goes_on_with_each_change(group: str) -> None:
    reader = Reader(group)
    first = reader.report(5)
    with stream(group) as events:
        assert events.response.headers["content-type"].startswith("text/event-stream")
        assert events.next() == first
        for watermark in (6, 7, 5):
            newer = reader.report(watermark)
            assert events.next() == newer


def test_a_stream_from_the_newest_event_gets_only_later_ones(group: str) -> None:
    reader = Reader(group)
    known = reader.report(5)
    with stream(group, last=known["revision"]) as events:
        newer = reader.report(6)
        assert events.next() == newer


@pytest.mark.parametrize(
    "last", [2**62, "x", *(pytest.param(each, marks=pytest.mark.long) for each in (0, "", "-1", "9" * 400))]
)
def test_a_last_event_that_is_not_ours_is_as_good_as_none(group: str, last: int | str) -> None:
    event = Reader(group).report(5)
    with stream(group, last=last) as events:
        assert events.next() == event


def test_a_stream_sees_a_lost_reader_by_time_alone(coordinator: CoordinatorProcess) -> None:
    group = made(f"{coordinator.url}/v1/groups/lost", lease_ms=200, update_interval_ms=20)
    event = Reader(group).report(5)
    with stream(group, last=event["revision"]) as events:
        assert events.next()["max_desired_watermark"] == MAX


def test_a_stream_of_an_unknown_group_is_a_404_and_one_of_a_deleted_group_ends(group: str) -> None:
    event = Reader(group).report(5)
    with stream(group) as events:
        assert events.next() == event
        httpx.delete(group, timeout=60).raise_for_status()
        with pytest.raises(EOFError):
            events.next()
    with stream(group) as events:
        assert (events.response.status_code, events.response.read()[:1]) == (404, b"{")


def test_a_subscriber_that_reads_nothing_delays_nobody_and_then_gets_the_newest(
    coordinator: CoordinatorProcess, group: str
) -> None:
    reader, changes = (
        Reader(group, "a" * 250),
        1_500,
    )  # large events, so that all are through long before who is stuck is hung up on
    reader.report(0)
    with ExitStack() as closing:
        stuck = closing.enter_context(unread(coordinator, group))
        events = closing.enter_context(stream(group))
        events.next()
        for step in range(1, changes + 1):
            event = reader.report(step * 1_000)
            assert events.next() == event
        received = all_of(stuck, until=f"id: {event['revision']}")
    assert 0 < received.count("event: alignment") < changes
    assert len(received) < KEPT_FOR_ONE < changes * len(received) / received.count("event: alignment")


@contextmanager
def unread(coordinator: CoordinatorProcess, group: str) -> Iterator[socket.socket]:
    """A subscriber with the smallest window there is, which has asked and does not read."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        raw.settimeout(60)
        raw.connect(("127.0.0.1", httpx.URL(coordinator.url).port))
        raw.sendall(f"GET {httpx.URL(group).path}/alignment/events HTTP/1.1\r\nHost: c\r\n\r\n".encode())
        yield raw


def all_of(raw: socket.socket, until: str) -> str:
    received = ""
    while until not in received:
        part = raw.recv(65_536).decode()
        assert part, "the stream has ended"
        received += part
    return received


@pytest.fixture(scope="module")
def replicas(redis_server: RedisServer) -> Iterator[tuple[str, str]]:
    """Two coordinators over one Redis."""
    with CoordinatorProcess(redis_server.url) as here, CoordinatorProcess(redis_server.url) as there:
        yield here.url, there.url


@pytest.mark.redis
def test_a_change_at_one_replica_reaches_the_streams_of_another_within_an_update_interval(
    replicas: tuple[str, str],
) -> None:
    group = made(f"{replicas[0]}/v1/groups/two", update_interval_ms=8_000)
    reader = Reader(group)
    reader.report(0)
    with stream(group.replace(*replicas)) as events:
        events.next()
        for watermark in range(1, 4):
            event = reader.report(watermark)
            answered = time.monotonic()
            assert events.next() == event
            assert time.monotonic() - answered < 8


@pytest.mark.redis
def test_a_reader_that_was_with_one_replica_is_lost_to_the_streams_of_another_within_an_update_interval(
    replicas: tuple[str, str],
) -> None:
    lease_ms, interval_ms = 500, 8_000
    group = made(f"{replicas[0]}/v1/groups/lost", lease_ms=lease_ms, update_interval_ms=interval_ms)
    with stream(group.replace(*replicas)) as events:
        events.next()
        event = Reader(group).report(5)  # the last word of it; nobody asks anything any more
        while (lost := events.next())["revision"] <= event["revision"]:
            pass
    assert lost["max_desired_watermark"] == MAX
    assert (
        lease_ms - CACHED_WITHIN_MS <= lost["revision"] - event["revision"] < lease_ms + interval_ms
    )  # by Redis's clock


def test_a_stream_ends_in_order_when_the_service_does_and_the_service_within_five_seconds() -> None:
    assert GRACE_S < 5
    with CoordinatorProcess() as process:
        group = made(f"{process.url}/v1/groups/g")
        Reader(group).report(1)
        with stream(group) as events:
            events.next()
            os.kill(process.pid, signal.SIGTERM)
            with pytest.raises(EOFError):  # and not a broken connection, which httpx would raise
                events.next()
        wait_for(lambda: process.pid is None, timeout_s=20)  # five, where nothing else runs


def test_one_more_than_may_wait_is_told_so_until_one_of_them_leaves() -> None:
    with CoordinatorProcess(options=["--max-subscribers", "2"]) as process, ExitStack() as closing:
        group = made(f"{process.url}/v1/groups/g")
        event = Reader(group).report(1)
        first = closing.enter_context(stream(group))
        with stream(group) as second:
            assert (first.next(), second.next()) == (event, event)
            for path in ("alignment/events", f"alignment?after={event['revision']}&wait_ms=60000"):
                with httpx.stream("GET", f"{group}/{path}", timeout=60) as refused:
                    assert refused.status_code == 503
                    assert json.loads(refused.read())["type"] == "urn:lockgate:too-many-subscribers"
                    assert int(refused.headers["retry-after"]) > 0
        params = {"after": event["revision"], "wait_ms": 1}
        wait_for(lambda: httpx.get(f"{group}/alignment", params=params, timeout=60).status_code == 204)
