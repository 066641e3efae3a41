"""`lockgate watch` in a process of its own: with and without a terminal, over outages, to its
end.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import yaml

from cli.conftest import COMMAND, on_a_terminal
from lockgate.watermark import MAX
from lockgate_cli.client import Flags, OperatorClient
from lockgate_http.calls.answers import Unreachable
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import Answer, serving
from support.children import doing_first

T = 1_767_225_600_000
GROUP = "/v1/groups/checkout"
LEAVES_THE_SCREEN = b"\x1b[?1049l"


@pytest.fixture
def http(empty: httpx.Client) -> httpx.Client:
    """Return a client of a group with one reader of orders, at `T`."""
    empty.delete(GROUP)
    begin(empty)
    return empty


def begin(http: httpx.Client) -> None:
    http.put(GROUP, json={"max_drift_ms": 300_000}).raise_for_status()
    http.post(f"{GROUP}/sources/orders/readers", json={"subtask": 0}).raise_for_status()
    move(http, T)


def move(http: httpx.Client, watermark: int) -> None:
    """A report of the reader, with no new registration in between."""
    (reader,) = http.get(f"{GROUP}/sources/orders").json()["readers"]
    report = {"subtask": 0, "epoch": reader["epoch"], "watermark": watermark}
    http.post(f"{GROUP}/sources/orders/watermarks", json=report).raise_for_status()


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Yield the command looks ten times a second in place of every two seconds."""
    often = "from lockgate_cli import watching\nwatching.EVERY_S = 0.1"
    with pytest.MonkeyPatch.context() as patched:
        for name, value in doing_first(tmp_path_factory.mktemp("quick"), often).items():
            patched.setenv(name, value)
        yield


@contextmanager
def watching(url: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command with its output and errors in one pipe."""
    command = [*COMMAND, "watch", "checkout", "--url", url, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_without_a_terminal_each_change_is_a_line(http: httpx.Client) -> None:
    with watching(str(http.base_url)) as process:
        assert "watermark 2026-01-01T00:00:00Z, read limit 2026-01-01T00:05:00Z, drift 0 s." in next_line(process)
        move(http, T + 60_000)
        line = next_line(process)  # the looks between the two have printed nothing
        assert "Waiting for orders/0 at 2026-01-01T00:01:00Z" in line
        process.terminate()
        assert process.wait(20) == 0


def test_for_programs_each_change_is_an_answer(http: httpx.Client) -> None:
    with watching(str(http.base_url), "--output", "json") as process:
        assert json.loads(next_line(process))["alignment"]["group_watermark"] == T
        move(http, T + 60_000)
        assert json.loads(next_line(process))["alignment"]["group_watermark"] == T + 60_000
    with watching(str(http.base_url), "--output", "yaml") as process:
        assert (next_line(process), yaml.safe_load(next_line(process))) == ("---", {"group": "checkout"})


def test_an_outage_is_told_once_and_ends_by_itself() -> None:
    with CoordinatorProcess() as first, httpx.Client(base_url=first.url, timeout=60) as http:
        begin(http)
        port = int(first.url.rpartition(":")[2])
        with watching(first.url) as process:
            assert "00:00:00Z, read limit" in next_line(process)
            first.kill()
            assert "gave no answer" in next_line(process)
            with CoordinatorProcess(port=port) as second, httpx.Client(base_url=second.url, timeout=60) as anew:
                begin(anew)
                assert next_line(process).endswith("connected to the coordinator again")
                move(anew, T + 60_000)
                while "00:01:00Z, read limit" not in (line := next_line(process)):
                    # a look amid the new group's first steps
                    assert "watermark none yet" in line or "watermark 2026-01-01T00:00:00Z" in line


def test_a_group_that_goes_and_comes_back_is_watched_on(http: httpx.Client) -> None:
    with watching(str(http.base_url)) as process:
        assert "watermark 2026" in next_line(process)
        http.delete(GROUP).raise_for_status()
        assert "retrying every 2 s" in next_line(process)
        begin(http)
        assert next_line(process).endswith("connected to the coordinator again")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_view_and_leaves_the_terminal_as_it_was(http: httpx.Client, ending: signal.Signals) -> None:
    with on_a_terminal("watch", "checkout", "--url", str(http.base_url)) as (process, read):
        seen = read(b"orders/0")
        process.send_signal(ending)
        seen += read(None)
        assert process.wait(20) == 0
    assert LEAVES_THE_SCREEN in seen
    assert b"Traceback" not in seen


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_a_proxy_answers_for_a_coordinator_that_is_away_may_pass(status: int) -> None:
    with (
        serving(Answer(status, b"<html>", "text/html")) as url,
        OperatorClient(Flags(url)) as client,
        pytest.raises(Unreachable, match=f"answers {status}"),
    ):
        client.group("checkout", MAX)
