"""Server-Sent Events of real coordinator processes over real sockets."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from lockgate_coordinator.server import SEND_BUFFER
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.http_readers import HttpReader

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


def reader_of(group: str, source: str = "a") -> HttpReader:
    url, _, name = group.partition("/v1/groups/")
    return HttpReader(url, name, source)


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


def test_stream_begins_with_what_holds_and_has_each_change(group: str) -> None:
    reader = reader_of(group)
    first = reader.report(5)
    with stream(group) as events:
        assert events.response.headers["content-type"].startswith("text/event-stream")
        assert events.next() == first
        for watermark in (6, 7, 5):
            newer = reader.report(watermark)
            assert events.next() == newer


@pytest.mark.parametrize(
    "last", [2**62, "x", *(pytest.param(each, marks=pytest.mark.long) for each in (0, "", "-1", "9" * 400))]
)
def test_a_last_event_that_is_not_ours_is_as_good_as_none(group: str, last: int | str) -> None:
    event = reader_of(group).report(5)
    with stream(group, last=last) as events:
        assert events.next() == event


def test_subscriber_that_reads_nothing_delays_nobody(coordinator: CoordinatorProcess, group: str) -> None:
    reader, changes = (
        reader_of(group, "a" * 250),
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
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)  # the smallest window would take a minute
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
def test_change_at_one_replica_reaches_streams_of_another_in_time(
    replicas: tuple[str, str],
) -> None:
    group = made(f"{replicas[0]}/v1/groups/two", update_interval_ms=8_000)
    reader = reader_of(group)
    reader.report(0)
    with stream(group.replace(*replicas)) as events:
        events.next()
        for watermark in range(1, 4):
            event = reader.report(watermark)
            answered = time.monotonic()
            assert events.next() == event
            assert time.monotonic() - answered < 8
