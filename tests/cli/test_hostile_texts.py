"""No text of a coordinator's answer steers the terminal that a command prints on."""

import json
import re
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rich.console import Group
from rich.text import Text
from typer.testing import CliRunner

import lockgate_cli
from lockgate_cli import advising, options, watching
from lockgate_cli.__main__ import cli
from lockgate_cli.client import OperatorClient
from lockgate_cli.output import Terminal
from lockgate_cli.tables import _table
from lockgate_coordinator import commands
from support.answers import wait_for
from support.http_readers import HttpReader

UNPRINTABLE = "".join(each for each in map(chr, range(0x10000)) if not each.isprintable() and each not in "\ud800")
STEERING = "\x1b]52;c;eA==\x07 \x1b[2J \u202e [link=file:///etc]x[/link] [/red] :bomb:"
HOSTILE = STEERING + "".join(each for each in UNPRINTABLE if ord(each) < 0x3100)
"""Each control character, line end and mark of direction; a clipboard's sequence, rich's markup."""

KEPT = {"mode", "catch_up", "on_lost_reader", "on_max_wait", "source"}
"""Keys whose values are one of a few, or become part of a path."""

FORMS = ("table", "json", "yaml")
COMMANDS = [
    ("groups",),
    ("describe", "g", "--partitions"),
    ("describe", "g", "--source", "orders", "--partitions"),
    ("watch", "g"),
    ("journal", "g"),
    ("check", "g"),
    ("advise", "g", "--watch-for", "10ms"),
    ("config", "get", "g"),
]
REFUSED = [("describe", "h"), ("evict", "g", "orders", "7"), ("pause", "h", "s", "--yes"), ("export", "h")]


class Poisoned(httpx.AsyncHTTPTransport):
    """What a real coordinator answers, with a hostile end on every text in it."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        body = poisoned(json.loads(await answer.aread() or b"{}"))
        headers = {"ETag": answer.headers.get("ETag", ""), "Content-Type": "application/json"}
        return httpx.Response(answer.status_code, headers=headers, stream=httpx.ByteStream(json.dumps(body).encode()))


def poisoned(value: Any) -> Any:
    """Return the same value, with all its texts hostile, and those of maps whose keys are free,
    too.
    """
    if isinstance(value, dict):
        return {key: each if key in KEPT else poisoned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return value + HOSTILE if isinstance(value, str) else value


@pytest.fixture(scope="module")
def url(empty: httpx.Client) -> str:
    """Return a group with a paused source, splits, facts, an owner and attributes."""
    empty.put("/v1/groups/g", json={"max_drift_ms": 300_000}).raise_for_status()
    split = {"watermark": 0, "state": "active", "position": 0, "end": 9}
    reader = HttpReader(str(empty.base_url), "g", "orders")
    reader.report(0, splits={"orders-0": split}, facts={"retention_split": "orders-0"})
    empty.put("/v1/groups/g/sources/orders/pause", json={"reason": "why"}).raise_for_status()
    wait_for(lambda: "source_paused" in empty.get("/v1/groups/g/journal").text)
    return str(empty.base_url)


@pytest.fixture(autouse=True)
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command asks through `Poisoned`, and ends where it would look a second time."""

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(options, "OperatorClient", lambda access: OperatorClient(access, Poisoned()))
    monkeypatch.setattr(watching, "sleep", interrupted)
    monkeypatch.setattr(advising, "_wait", lambda seconds, advance: advance(1.0))


def call(url: str, *words: str) -> tuple[str, str]:
    """Return what a command prints on standard output and on standard error."""
    done = CliRunner().invoke(cli, words, env={"LOCKGATE_URL": url, "COLUMNS": "200"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.stdout, done.stderr


def steers(printed: str) -> set[str]:
    return {each for each in printed if not each.isprintable() and each != "\n"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_a_character_that_steers(url: str, words: tuple[str, ...], form: str) -> None:
    out, err = call(url, *words, "--output", form)
    assert steers(out + err) == set()
    assert out + err != ""


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_no_refusal_prints_more_than_one_line(url: str, words: tuple[str, ...]) -> None:
    out, err = call(url, *words)
    assert steers(out + err) == set()
    assert err.count("\n") == 1


def test_json_and_yaml_say_the_hostile_text_itself(url: str) -> None:
    (as_json,) = json.loads(call(url, "groups", "--output", "json")[0])["items"]
    (as_yaml,) = yaml.safe_load(call(url, "groups", "--output", "yaml")[0])["items"]
    assert as_json["group"] == as_yaml["group"] == "g" + HOSTILE


def test_a_table_has_markup_as_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", printed := StringIO())
    table = _table("owner")
    table.add_row(STEERING)
    Terminal().print(Group(table, Text(STEERING)), width=120)
    assert steers(printed.getvalue()) == set()
    assert printed.getvalue().count("[link=file:///etc]x[/link] [/red] :bomb:") == 2


def test_only_the_module_of_output_prints() -> None:
    printing = re.compile(r"\b(?:typer\.s?echo|Console|(?<!\.)print)\(")
    files = [*Path(lockgate_cli.__file__).parent.glob("*.py"), Path(commands.__file__)]
    assert {file.name for file in files if printing.search(file.read_text())} == {"output.py"}
