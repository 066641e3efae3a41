"""`lockgate wait` in a process of its own: its exit statuses, its progress, and signals."""

import signal
import subprocess
from typing import Any

import httpx
import pytest

from cli.conftest import COMMAND, on_a_terminal
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.http_readers import HttpReader, subscribers
from support.lockgate_command import said

T = 1_767_261_600_000  # 2026-01-01T10:00:00Z
TEN = "2026-01-01T10:00Z"
UNTIL = ("--until", TEN)


@pytest.fixture
def orders(empty: httpx.Client, coordinator: CoordinatorProcess) -> HttpReader:
    """Return a reader of the group checkout, which is new for a tenth of a second."""
    empty.delete("/v1/groups/checkout")
    empty.put("/v1/groups/checkout", json={"lease_ms": 100}).raise_for_status()
    reader = HttpReader(coordinator.url, "checkout", "orders")
    reader.report(T - 600_000)
    return reader


def waiting(url: str, *more: str) -> "subprocess.Popen[str]":
    command = [*COMMAND, "wait", "checkout", *UNTIL, "--url", url, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_exits_with_0_once_the_group_has_passed(coordinator: CoordinatorProcess, orders: HttpReader) -> None:
    with waiting(coordinator.url) as process:
        orders.report(T - 1)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (0, "checkout has passed 2026-01-01T10:00:00Z\n", "")


def test_it_exits_with_1_at_the_deadline_and_says_why(coordinator: CoordinatorProcess, orders: HttpReader) -> None:
    told = said(coordinator.url, "wait", "checkout", *UNTIL, "--timeout", "200ms", code=1)

    assert told.startswith("lockgate: checkout has not passed 2026-01-01T10:00:00Z within 0.2 s: ")
    assert "orders/0" in told


@pytest.mark.parametrize("until", ["2026-01-01T10:00", "yesterday", ""])
def test_a_time_without_a_zone_is_a_usage_error(coordinator: CoordinatorProcess, orders: Any, until: str) -> None:
    assert "2026-11-25T10:00Z" in said(coordinator.url, "wait", "checkout", "--until", until, code=2, width=200)


def test_a_group_that_is_not_there_is_exit_3_with_those_that_are(coordinator: CoordinatorProcess, orders: Any) -> None:
    assert "existing groups: checkout" in said(coordinator.url, "wait", "chekout", *UNTIL, code=3)


def test_a_coordinator_that_is_not_there_is_exit_3() -> None:
    assert "gave no answer" in said("http://127.0.0.1:1", "wait", "checkout", *UNTIL, code=3)


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_word(
    coordinator: CoordinatorProcess, orders: HttpReader, ending: signal.Signals, code: int
) -> None:
    with waiting(coordinator.url) as process:
        wait_for(lambda: subscribers(coordinator.url) > 0)
        process.send_signal(ending)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (code, "", "")


def test_a_terminal_shows_whom_it_waits_for(coordinator: CoordinatorProcess, orders: HttpReader) -> None:
    with on_a_terminal("wait", "checkout", *UNTIL, "--url", coordinator.url) as (process, read):
        seen = read(b"orders/0")
        orders.report(T)
        seen += read(None)
        assert process.wait(20) == 0

    assert b"checkout has not passed 2026-01-01T10:00:00Z" in seen
    assert b"checkout has passed" in seen
