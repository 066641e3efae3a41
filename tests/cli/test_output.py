"""The forms in which the reading commands print, against a real coordinator."""

import json

import httpx
import pytest
import yaml

from support.answers import wait_for
from support.lockgate_command import said

GROUP = "/v1/groups/checkout"
AGES = {"now", "now_iso", "lease_left_ms", "progress_age_ms", "waiting_ms"}


@pytest.fixture(scope="module")
def url(empty: httpx.Client) -> str:
    """Return a group whose reader has not reported, and with a source that an operator
    has paused for a reason that YAML would misread without quotes.
    """
    empty.put(GROUP, json={"max_drift_ms": 300_000}).raise_for_status()
    empty.post(f"{GROUP}/sources/orders/readers", json={"subtask": 0}).raise_for_status()
    empty.put(f"{GROUP}/sources/orders/pause", json={"reason": "no: - ünter *x #1"}).raise_for_status()
    wait_for(lambda: "source_paused" in empty.get(f"{GROUP}/journal").text)
    return str(empty.base_url)


@pytest.mark.parametrize(
    "words",
    [
        ("groups",),
        ("describe", "checkout"),
        ("describe", "checkout", "--source", "orders"),
        ("config", "get", "checkout"),
        ("check", "checkout"),
    ],
)
def test_yaml_says_what_json_says(url: str, words: tuple[str, ...]) -> None:
    as_json = json.loads(said(url, *words, "--output", "json"))
    as_yaml = yaml.safe_load(said(url, *words, "--output", "yaml"))
    assert _ageless(as_yaml) == _ageless(as_json)


def test_the_journal_has_an_entry_a_line_or_a_document(url: str) -> None:
    lines = said(url, "journal", "checkout", "--output", "json").splitlines()
    entries = [json.loads(line) for line in lines]
    assert {"group_created", "source_paused"} <= {entry["kind"] for entry in entries}
    assert list(yaml.safe_load_all(said(url, "journal", "checkout", "--output", "yaml"))) == entries


def test_check_has_its_reasons_for_programs_and_the_same_status(url: str) -> None:
    healthy = {"group": "checkout", "healthy": True, "reasons": [], "readers": 1}
    assert json.loads(said(url, "check", "checkout", "--output", "json")) == healthy


def _ageless(answer: object) -> object:
    """Return the answer without what changes by time alone."""
    if isinstance(answer, dict):
        return {key: _ageless(value) for key, value in answer.items() if key not in AGES}
    return [_ageless(each) for each in answer] if isinstance(answer, list) else answer
