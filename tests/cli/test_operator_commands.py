"""An operator's commands against a real coordinator: what they show, what they do, and how they
fail.
"""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from cli.conftest import on_a_terminal
from lockgate import __version__
from lockgate_cli.__main__ import cli
from lockgate_cli.client import ATTEMPTS
from support.answers import Answer, accepting_only, serving
from support.lockgate_command import fault, said

T = 1_767_225_600_000  # 2026-01-01
GROUP = "/v1/groups/checkout"


@pytest.fixture
def http(empty: httpx.Client) -> httpx.Client:
    """Return a client of a group `checkout` with two readers of orders, one of payments that
    waits, and an idle one.
    """
    empty.delete(GROUP)
    empty.put(GROUP, json={"max_drift_ms": 300_000})
    reporting(empty, "orders", 0, T, batch_id=41)
    reporting(empty, "orders", 1, T + 60_000)
    reporting(empty, "payments", 0, T + 300_000)
    reporting(empty, "clicks", 0, T, idle=True)
    return empty


def reporting(http: httpx.Client, source: str, subtask: int, watermark: int, **more: Any) -> int:
    registration = {"subtask": subtask, "owner": "7c0d1f5e-6e25"}
    epoch = http.post(f"{GROUP}/sources/{source}/readers", json=registration).json()["epoch"]
    splits = {f"{source}-0": {"watermark": watermark, "state": "active", "position": 100, "end": 900}}
    report = {"subtask": subtask, "epoch": epoch, "watermark": watermark, "splits": splits, **more}
    http.post(f"{GROUP}/sources/{source}/watermarks", json=report).raise_for_status()
    return int(epoch)


def test_groups_shows_each_watermark_and_blocker(http: httpx.Client) -> None:
    line = next(line for line in said(str(http.base_url), "groups").splitlines() if line.startswith("checkout"))
    assert line.split() == ["checkout", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "5", "min", "4", "orders/0"]


@pytest.mark.parametrize("width", [80, 120])
def test_describe_shows_each_reader_and_cuts_no_time(http: httpx.Client, width: int) -> None:
    lines = said(str(http.base_url), "describe", "checkout", "--partitions", width=width).splitlines()
    assert max(len(line) for line in lines) <= width
    row = next(line for line in lines if line.startswith("orders/0"))
    assert re.match(r"orders/0 +active +2026-01-01T00:00:00Z +0 s +– +\S+ s +\S+ \S+ ago +41", row)
    assert any(re.match(r"payments/0 +active +2026-01-01T00:05:00Z +5 min +\d\S+ m?s +\S+ s ", line) for line in lines)
    assert any(re.match(r"orders/1 +orders-0 +active +2026-01-01T00:01:00Z +1 min +100 of 900", line) for line in lines)


def test_describe_names_the_blocker_in_a_sentence(http: httpx.Client) -> None:
    text = " ".join(said(str(http.base_url), "describe", "checkout").split())
    assert "Waiting for orders/0 (partition orders-0) at 2026-01-01T00:00:00Z; read limit 2026-01-01T00:05:00Z." in text
    http.put(GROUP, json={"expected_sources": ["refunds"]})
    text = " ".join(said(str(http.base_url), "describe", "checkout").split())
    assert "All readers wait for the first report of refunds" in text


def test_describe_shows_what_the_queries_tell(http: httpx.Client) -> None:
    lines = said(str(http.base_url), "describe", "checkout").splitlines()
    assert not any("rows saved" in line for line in lines), "no query has told anything"
    facts = {"late_rows": 12, "rows_saved": 3_000, "event_time_rate": 1_500, "producer_lag_ms": 5_000}
    retained = {"retained_until": 2_000_000_000_000, "retention_split": "orders-7"}
    reporting(http, "orders", 0, T, facts={**facts, **retained})
    lines = said(str(http.base_url), "describe", "checkout", width=160).splitlines()
    assert any(re.match(r"orders/0 +12 +3,000 +1\.5× +5 s +[\d,]+ d .*\(orders-7\)", line) for line in lines)
    assert sum("orders/1" in line for line in lines) == 1, "a query that tells nothing has no row"


def test_describe_shows_who_is_parked_and_for_how_long(http: httpx.Client) -> None:
    reporting(http, "hourly", 0, T, park_ms=7_200_000)
    lines = said(str(http.base_url), "describe", "checkout").splitlines()
    assert any(re.match(r"hourly/0 +parked +2026-01-01T00:00:00Z +0 s +– +(1 h 59|2 h) ", line) for line in lines)


def test_a_page_says_how_to_see_the_next(http: httpx.Client) -> None:
    shown = said(str(http.base_url), "describe", "checkout", "--limit", "2")
    assert "--after orders/0" in shown
    shown = said(str(http.base_url), "describe", "checkout", "--after", "orders/0")
    assert ("orders/1" in shown, "payments/0" in shown, "clicks/0" in shown) == (True, True, False)
    assert "--after 0," in said(str(http.base_url), "describe", "checkout", "--source", "orders", "--limit", "1")


def test_json_is_the_services_own(http: httpx.Client) -> None:
    url = str(http.base_url)
    ages = re.compile(r'"(now|now_iso|lease_left_ms|progress_age_ms|waiting_ms)": [^,\n}]+')
    for args, path in (
        (("groups",), "/v1/groups"),
        (("describe", "checkout"), GROUP),
        (("describe", "checkout", "--source", "orders"), f"{GROUP}/sources/orders"),
    ):
        own = json.dumps(http.get(path).json(), indent=2) + "\n"
        assert ages.sub("", said(url, *args, "--output", "json")) == ages.sub("", own)


def test_evict_takes_a_reader_out(http: httpx.Client) -> None:
    url = str(http.base_url)
    said(url, "evict", "checkout", "orders", "0")
    assert [reader["subtask"] for reader in http.get(f"{GROUP}/sources/orders").json()["readers"]] == [1]


def test_delete_asks_first(http: httpx.Client) -> None:
    url = str(http.base_url)
    assert CliRunner().invoke(cli, ["delete", "checkout", "--url", url], input="n\n").exit_code == 1
    assert http.get(GROUP).status_code == 200
    said(url, "delete", "checkout", "--yes")
    assert http.get(GROUP).status_code == 404


def test_an_unknown_name_is_answered_with_similar_ones(http: httpx.Client) -> None:
    url = str(http.base_url)
    assert "existing groups: checkout" in fault(url, "describe", "chekout")
    assert "existing sources: orders" in fault(url, "describe", "checkout", "--source", "order")
    assert "existing subtasks: 0, 1" in fault(url, "evict", "checkout", "orders", "7")


def test_an_address_without_a_coordinator_is_one_line() -> None:
    assert "http://127.0.0.1:1 gave no answer: Connection refused; check --url" in fault("http://127.0.0.1:1", "groups")


def test_a_service_that_never_answers_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate_cli.client.TIMEOUT_S", 0.2)
    with accepting_only() as url:
        assert "gave no whole answer within 0.2 s; check --url" in fault(url, "groups")


@pytest.mark.parametrize(("status", "hint"), [(401, "--token-file"), (403, "role"), (429, "try again")])
def test_a_refusal_of_access_says_what_to_do_and_never_the_token(status: int, hint: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2\n", encoding="utf-8")
    body = json.dumps({"type": "urn:lockgate:x", "title": "x", "status": status, "detail": "no, hunter2"}).encode()
    with serving(answer := Answer(status, body, "application/problem+json")) as url:
        line = fault(url, "groups", "--token-file", str(tmp_path / "token"))
        fault(url, "groups", LOCKGATE_TOKEN="hunter2")
    assert hint in line
    assert "hunter2" not in line
    assert [authorization for _, authorization in answer.asked] == ["Bearer hunter2"] * len(answer.asked)


def test_a_store_that_is_away_is_reported_at_once() -> None:
    body = json.dumps({"type": "urn:lockgate:store-unavailable", "status": 503, "detail": "Redis is away"}).encode()
    with serving(answer := Answer(503, body, "application/problem+json", {"Retry-After": "1"})) as url:
        assert fault(url, "groups") == "lockgate: Redis is away"
    assert len(answer.asked) == ATTEMPTS


@pytest.mark.parametrize("answer", [Answer(), Answer(200, b"<html>", "text/html"), Answer(502, b"<html>", "text/html")])
def test_another_service_or_version_is_said_to_be_one(answer: Answer) -> None:
    with serving(answer) as url:
        assert re.search("does not answer like lockgate|not like a lockgate coordinator", fault(url, "groups"))


def test_an_older_service_is_named_with_its_version() -> None:
    with serving(Answer(200, b'{"info": {"title": "lockgate coordinator", "version": "0.0.1"}}')) as url:
        assert "it is lockgate coordinator 0.0.1, and this command is of" in fault(url, "groups")


@pytest.mark.parametrize(
    "words",
    [
        "describe a/b",
        "describe",
        "evict g s -1",
        "groups --output json --watch",
        "groups --output xml",
        "groups --watch",
        "groups --url ftp://x",
        "groups --url http://u:hunter2@x",
        "groups --url http://x:99999",
        "groups --token-file nowhere",
        "export a:b c\\d",
        "export a**",
        "import",
        "import f --wrong",
    ],
)
def test_a_wrong_use_ends_with_2(words: str) -> None:
    assert "hunter2" not in said("http://127.0.0.1:1", *words.split(), code=2)


def test_watch_shows_what_changes_until_it_is_interrupted(http: httpx.Client) -> None:
    with on_a_terminal("groups", "--watch", "--url", str(http.base_url)) as (watching, read):
        read(b"orders/0")
        http.delete(f"{GROUP}/sources/orders/readers/0", params={"force": "true"}).raise_for_status()
        read(b"orders/1")
        watching.send_signal(signal.SIGINT)
        read(None)
        assert watching.wait(20) == 0


def test_the_command_tells_its_version() -> None:
    told = CliRunner().invoke(cli, ["--version"])
    assert (told.exit_code, told.output) == (0, f"lockgate {__version__}\n")


@pytest.mark.parametrize("name", [".", "..", "a/b"])
@pytest.mark.parametrize("words", [("describe",), ("export",), ("delete", "--yes"), ("evict", "g", "{}", "0")])
def test_a_command_takes_no_step_of_a_path_for_a_name(words: tuple[str, ...], name: str) -> None:
    given = [each.format(name) for each in words] if "{}" in words else [*words, name]
    assert "must be 1 to 255" in said("http://127.0.0.1:1", *given, code=2, width=200)


@pytest.mark.parametrize("command", ["serve", "token"])
def test_a_command_of_the_service_names_its_missing_package(command: str) -> None:
    alone = (
        "import importlib.metadata as m; m.entry_points = lambda **_: ()\n"
        "from lockgate_cli.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", alone, command, "--port", "0"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"lockgate: {command} needs the service: pip install lockgate-coordinator\n"
