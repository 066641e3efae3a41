"""Coordinator processes that the system stops for much longer than a lease. Some reports wait in
their sockets, and are read first.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for

GROUP = "/v1/groups/g"
LEASE_MS = 3_000
STOPPED_S = 2.5 * LEASE_MS / 1_000
CONFIG = {"lease_ms": LEASE_MS, "update_interval_ms": 600_000, "catch_up": "strict", "max_drift_ms": 10}
"""The interval is so long that no silence is taken for an outage of all."""


class Reader:
    """A reader that writes its reports without waiting for the answers."""

    def __init__(self, at: CoordinatorProcess, source: str, watermark: int) -> None:
        self._path = f"{GROUP}/sources/{source}/watermarks"
        answer = httpx.post(f"{at.url}{GROUP}/sources/{source}/readers", json={"subtask": 0}, timeout=60)
        self._report = json.dumps({"subtask": 0, "epoch": answer.json()["epoch"], "watermark": watermark})
        self._url = httpx.URL(at.url)
        self.connects()

    def connects(self) -> None:
        """Open another connection, as a client does that waits for no answer any longer."""
        self._socket = socket.create_connection((self._url.host, self._url.port), timeout=60)

    def reports(self) -> None:
        """Send the report."""
        head = f"POST {self._path} HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(self._report)}\r\n\r\n{self._report}".encode())

    def received(self) -> int:
        """Return the ceiling of the next answer."""
        answer = b""
        while not answer.endswith(b"}"):
            answer += self._socket.recv(65_536)
        ceiling: int = json.loads(answer.partition(b"\r\n\r\n")[2])["max_desired_watermark"]
        return ceiling


@contextmanager
def stopped(processes: Sequence[CoordinatorProcess]) -> Iterator[None]:
    """The processes are stopped inside, for `STOPPED_S` at least."""
    pids = [process.pid for process in processes if process.pid is not None]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + STOPPED_S
    try:
        yield
        wait_for(lambda: time.monotonic() > until)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def announced(at: CoordinatorProcess) -> Iterator[Callable[[], list[int]]]:
    """All ceilings of an event stream so far."""
    with httpx.stream("GET", f"{at.url}{GROUP}/alignment/events", timeout=60) as answer:
        lines = answer.iter_lines()

        def until_now() -> list[int]:
            """Up to the event that `at` announces now, by another configuration."""
            httpx.put(f"{at.url}{GROUP}", json=CONFIG | {"max_drift_ms": 11}, timeout=60).raise_for_status()
            ceilings = list[int]()
            for line in lines:
                if line.startswith("data: "):
                    ceilings.append(json.loads(line[6:])["max_desired_watermark"])
                    if ceilings[-1] == 61:
                        return ceilings
            return ceilings

        yield until_now


@pytest.mark.parametrize("replicas", [1, pytest.param(2, marks=[pytest.mark.redis, pytest.mark.long])])
def test_reader_that_is_read_last_after_a_stop_is_not_lost(replicas: int, request: pytest.FixtureRequest) -> None:
    with ExitStack() as stack:
        store = "memory://" if replicas == 1 else request.getfixturevalue("redis_server").url
        processes = [stack.enter_context(CoordinatorProcess(store)) for _ in range(replicas)]
        httpx.put(f"{processes[0].url}{GROUP}", json=CONFIG, timeout=60).raise_for_status()
        slow, fast = Reader(processes[0], "slow", 50), Reader(processes[-1], "fast", 1_000)
        for reader in (slow, fast):
            reader.reports()
            reader.received()
        streams = [stack.enter_context(announced(process)) for process in processes]
        with stopped(processes):
            fast.reports()
        assert fast.received() == 60
        slow.connects()
        slow.reports()
        assert slow.received() == 60
        assert {ceiling for stream in streams for ceiling in stream()} == {60, 61}
        logs = [process.log.read_text() for process in processes]
        assert all("event loop stalled for" in log and "reader_lost" not in log for log in logs)
