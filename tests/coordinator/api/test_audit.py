"""The audit line of each act: who, where, what, by which request; and never a token."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import Store
from lockgate_coordinator.telemetry.logs import AUDIT, JsonLines, LogFormat, LogLevel, TextLines, install
from support.in_process import client_of

Acts = Callable[[], list[dict[str, Any]]]
SECRET = "a-secret-of-the-audit-tests-alone-000000"
GROUP = "/v1/groups/g"
READER = f"{GROUP}/sources/orders/readers"
ID = {"X-Request-Id": "change-4711"}


@pytest.fixture
async def operator(store: Store, tmp_path: Path) -> Any:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(stanza(Token("anna", digest_of(SECRET.encode()), Role.ADMIN)), encoding="utf-8")
    headers = {"Authorization": f"Bearer {SECRET}", "User-Agent": "their-tool/1"}
    async with client_of(create_app(store, Settings(tokens_file=tokens)), headers=headers) as client:
        yield client


@pytest.fixture
def acts(caplog: pytest.LogCaptureFixture) -> Acts:
    """Return what gives the fields of all audit lines."""
    caplog.set_level(logging.INFO, AUDIT)

    def found() -> list[dict[str, Any]]:
        records = [record for record in caplog.records if record.name == AUDIT]
        assert not any(SECRET in JsonLines().format(each) + TextLines().format(each) for each in records)
        return [vars(record)["fields"] for record in records]

    return found


async def test_a_configuration_s_line_has_the_token_s_name_and_what_changed(
    operator: httpx.AsyncClient, acts: Acts
) -> None:
    await operator.put(GROUP, json={"max_drift_ms": 7})
    answer = await operator.put(GROUP, json={"max_drift_ms": 8}, headers=ID)
    assert answer.headers["X-Request-Id"] == "change-4711"
    assert acts()[0]["changed"]["max_drift_ms"] == [None, 7]
    assert acts()[1] == {
        "event": "act",
        "act": "configure",
        "token": "anna",
        "group": "g",
        "request_id": "change-4711",
        "agent": "their-tool/1",
        "outcome": "done",
        "changed": {"max_drift_ms": [7, 8]},
    }


async def test_an_eviction_a_takeover_and_a_deletion_have_their_lines(operator: httpx.AsyncClient, acts: Acts) -> None:
    await operator.post(READER, json={"subtask": 0, "owner": "a"})
    await operator.post(READER, json={"subtask": 0, "owner": "b", "takeover": True}, headers=ID)
    await operator.delete(f"{READER}/0", params={"force": "true"}, headers=ID)
    await operator.delete(GROUP, headers=ID)
    assert [(act["act"], act["token"], act["outcome"], act["request_id"]) for act in acts()] == [
        (act, "anna", "done", "change-4711") for act in ("take_over", "evict", "delete")
    ]
    assert [(act.get("source"), act.get("subtask")) for act in acts()] == [("orders", 0), ("orders", 0), (None, None)]


async def test_a_refused_act_has_its_line_with_the_reason(operator: httpx.AsyncClient, acts: Acts) -> None:
    await operator.put(GROUP, json={}, headers={"If-Match": '"1"'})
    await operator.delete(GROUP)
    assert [(act["act"], act["outcome"]) for act in acts()] == [
        ("configure", "precondition-failed"),
        ("delete", "unknown-group"),
    ]


async def test_what_readers_do_all_day_is_no_act(operator: httpx.AsyncClient, acts: Acts) -> None:
    epoch = (await operator.post(READER, json={"subtask": 0})).json()["epoch"]
    await operator.post(f"{GROUP}/watermarks", json={"reports": []})
    await operator.delete(f"{READER}/0", params={"epoch": epoch})
    assert acts() == []


async def test_an_id_that_could_break_a_line_is_replaced(operator: httpx.AsyncClient, acts: Acts) -> None:
    answer = await operator.put(GROUP, json={}, headers={"X-Request-Id": 'x" token="root'})
    assert answer.headers["X-Request-Id"] == acts()[0]["request_id"]
    assert acts()[0]["request_id"].isalnum()


async def test_a_long_list_is_cut(operator: httpx.AsyncClient, acts: Acts) -> None:
    await operator.put(GROUP, json={"expected_sources": [f"s{i}" for i in range(50)]})
    assert acts()[0]["changed"]["expected_sources"][1][-1] == "… and 30 more"


def test_a_high_log_level_does_not_end_the_record_of_acts() -> None:
    logger, root = logging.getLogger("lockgate"), logging.getLogger()
    before = logger.level, root.level, list(root.handlers)
    try:
        install(LogFormat.JSON, LogLevel.ERROR)
        assert logging.getLogger(AUDIT).isEnabledFor(logging.INFO)
    finally:
        logger.setLevel(before[0])
        root.setLevel(before[1])
        root.handlers[:] = before[2]


async def test_the_journal_has_the_operator_s_name_at_acts_alone(operator: httpx.AsyncClient) -> None:
    await operator.put(GROUP, json={})
    await operator.post(READER, json={"subtask": 0})
    await operator.put(f"{GROUP}/sources/orders/pause", json={})
    await operator.delete(f"{READER}/0", params={"force": "true"})
    items: list[dict[str, Any]] = []
    while len(items) < 4:  # they are written after the answer
        items = (await operator.get(f"{GROUP}/journal")).json()["items"]
    assert {item["kind"]: item["by"] for item in items} == {
        "group_created": "anna",
        "reader_registered": None,
        "source_paused": "anna",
        "reader_evicted": "anna",
    }
