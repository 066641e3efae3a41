"""What operators do to a group and read of it by commands, against a real coordinator."""

import json
from typing import Any

import httpx
import pytest

from lockgate_cli.looks import findings, line
from support.answers import wait_for
from support.lockgate_command import said

T = 1_767_225_600_000
GROUP = "/v1/groups/checkout"


@pytest.fixture
def http(empty: httpx.Client) -> httpx.Client:
    """Return a client of a group with a reader of orders, and one of payments 5 minutes ahead."""
    empty.delete(GROUP)
    empty.put(GROUP, json={"max_drift_ms": 300_000})
    for source, watermark in (("orders", T), ("payments", T + 300_000)):
        epoch = empty.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0}).json()["epoch"]
        report = {"subtask": 0, "epoch": epoch, "watermark": watermark}
        empty.post(f"{GROUP}/sources/{source}/watermarks", json=report).raise_for_status()
    return empty


def test_a_source_is_paused_shown_and_resumed(http: httpx.Client) -> None:
    url = str(http.base_url)
    said(url, "pause", "checkout", "orders", "--reason", "the sink is away", "--yes")
    shown = " ".join(said(url, "describe", "checkout", width=160).split())
    assert "An operator has paused orders: the sink is away." in shown
    said(url, "resume", "checkout", "orders")
    assert http.get(GROUP).json()["paused_sources"] == []


def test_a_pause_is_confirmed_first(http: httpx.Client) -> None:
    said(str(http.base_url), "pause", "checkout", "orders", code=1)
    assert http.get(GROUP).json()["paused_sources"] == []


def test_a_configuration_is_shown_and_changed_key_by_key(http: httpx.Client) -> None:
    url = str(http.base_url)
    assert "max_drift_ms        5 min" in said(url, "config", "get", "checkout")
    text = said(url, "config", "set", "checkout", "--max-drift", "1h 30min", "--mode", "observe", "--yes")
    assert "max_drift_ms: 5 min -> 1 h 30 min" in text
    assert "mode: enforce -> observe" in text
    config = json.loads(said(url, "config", "get", "checkout", "--output", "json"))
    assert (config["max_drift_ms"], config["mode"], config["lease_ms"]) == (5_400_000, "observe", 30_000)
    assert "already" in said(url, "config", "set", "checkout", "--mode", "observe")


@pytest.mark.parametrize(
    ("options", "text"),
    [((), "give at least one option"), (("--max-drift", "soon"), "'soon' is no duration"), (("--mode", "off"), "mode")],
)
def test_a_wrong_change_is_refused_before_anything_is_sent(
    http: httpx.Client, options: tuple[str, ...], text: str
) -> None:
    assert text in said(str(http.base_url), "config", "set", "checkout", *options, code=2, width=200)


def test_the_journal_tells_what_happened_the_newest_last(http: httpx.Client) -> None:
    url = str(http.base_url)
    said(url, "pause", "checkout", "orders", "--reason", "night", "--yes")
    wait_for(lambda: "source paused orders" in said(url, "journal", "checkout"))
    lines = said(url, "journal", "checkout").splitlines()
    assert lines[-1].endswith("source paused orders: an operator paused it (why night)")
    assert "group created" in lines[0]
    (one,) = said(url, "journal", "checkout", "--kind", "source_paused", "--output", "json").splitlines()
    assert json.loads(one)["details"]["why"] == "night"


def test_check_ends_with_a_status_for_probes(http: httpx.Client) -> None:
    url = str(http.base_url)
    assert "is healthy: 2 readers" in said(url, "check", "checkout", "--max-drift", "5min", "--stuck-for", "1h")
    said(url, "check", "checkout", "--max-drift", "4min", code=1)
    said(url, "check", "checkout", "--max-drift", "far", code=2)
    said(url, "check", "nowhere", code=3)
    said("http://127.0.0.1:9", "check", "checkout", code=3)


HOLDER = {"source": "orders", "subtask": 0}
WELL: dict[str, Any] = {**HOLDER, "state": "active", "overdue": False, "progress_age_ms": 60_000, "waiting_ms": None}
FOUND: dict[str, Any] = {"waiting_for": [], "drift_ms": 5, "alignment": {"blocked_by": [HOLDER]}}


@pytest.mark.parametrize(
    ("group", "reader", "reason"),
    [
        ({"waiting_for": ["late"]}, {}, "the expected source late has not reported"),
        ({"drift_ms": 11}, {}, "its readers are 11 ms apart, more than 10 ms"),
        ({}, {"state": "lost"}, "reader orders/0 is lost"),
        ({}, {"overdue": True, "waiting_ms": 7_000}, "reader orders/0 has waited for 7 s, longer than max_wait_ms"),
        ({}, {"progress_age_ms": 60_001}, "the group waits for reader orders/0, which has made no progress for 1 min"),
    ],
)
def test_each_reason_of_an_unhealthy_group_is_a_sentence(
    group: dict[str, Any], reader: dict[str, Any], reason: str
) -> None:
    assert findings(FOUND, [WELL], 10, 60_000) == []
    assert findings({**FOUND, **group}, [{**WELL, **reader}], 10, 60_000) == [reason]


def test_a_reader_that_holds_nobody_may_rest() -> None:
    assert findings({**FOUND, "alignment": {"blocked_by": []}}, [{**WELL, "progress_age_ms": 10**9}], 10, 60_000) == []


def test_an_entry_names_its_reader_the_operator_and_what_a_person_needs() -> None:
    entry = {
        "at": T,
        "kind": "reader_lost",
        "source": "orders",
        "subtask": 3,
        "by": "ops",
        "reason": "its lease has ended",
        "details": {"silent_ms": 30_004, "owner": "", "since": T},
    }
    assert line(entry) == (
        "2026-01-01T00:00:00Z reader lost orders/3 by ops: its lease has ended (silent_ms 30 s, since "
        "2026-01-01T00:00:00Z)"
    )
