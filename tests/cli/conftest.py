"""One coordinator for all tests of the commands, and the commands on a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess

COMMAND = [sys.executable, "-m", "lockgate_cli"]


@pytest.fixture(scope="session")
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as started:
        yield started


@pytest.fixture(scope="module")
def empty(coordinator: CoordinatorProcess) -> Iterator[httpx.Client]:
    """Yield a client of the coordinator, which has no groups when a file begins."""
    with httpx.Client(base_url=coordinator.url, timeout=60) as client:
        for item in client.get("/v1/groups").json()["items"]:
            client.delete(f"/v1/groups/{item['group']}").raise_for_status()
        yield client


@contextmanager
def on_a_terminal(*words: str) -> Iterator[tuple["subprocess.Popen[bytes]", Callable[[bytes | None], bytes]]]:
    """Run a command on a terminal of its own. Yield the process, and a function that reads what it
    writes up to a text, or to its end.
    """
    screen, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100"}
    with subprocess.Popen([*COMMAND, *words], stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)

        def read(text: bytes | None) -> bytes:
            seen = b""
            while text is None or text not in seen:
                try:
                    more = os.read(screen, 65_536)
                except OSError:  # Linux says so at the end of a terminal
                    more = b""
                if not more:
                    assert text is None, seen
                    break
                seen += more
            return seen

        try:
            yield process, read
        finally:
            process.kill()
            os.close(screen)
