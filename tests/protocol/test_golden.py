"""What goes over the wire, as files. A change in them is a change of the protocol: docs/protocol.md has to say it too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate import codec
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore

EXCHANGES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "exchanges.json").read_text(encoding="utf-8"))


async def test_the_service_answers_as_the_golden_exchanges_say() -> None:
    now = 0
    app = create_app(MemoryStore(lambda: now))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as client:
        for exchange in EXCHANGES:
            now = exchange["now_ms"]
            body = json.dumps(exchange["body"]) if "body" in exchange else None
            answer = await client.request(exchange["method"], exchange["path"], content=body)
            said = json.loads(answer.text) if answer.text else None
            assert (exchange["path"], answer.status_code, said) == (exchange["path"], exchange["status"], exchange["answer"])


PAIRS: dict[str, tuple[Callable[[object], Any], Callable[[Any], Any]]] = {
    "readers": (codec.registration_from_json, codec.registration_to_json),
    "watermarks": (codec.report_from_json, codec.report_to_json),
    "progress": (codec.progress_from_json, codec.progress_to_json),
}
EVENTS = [e for e in EXCHANGES if e["status"] < 300 and isinstance(e["answer"], dict) and "revision" in e["answer"]]
BODIES = [e for e in EXCHANGES if e["status"] < 300 and "/sources/" in e["path"] and "body" in e]


@pytest.mark.parametrize("exchange", EVENTS, ids=lambda exchange: exchange["path"])
def test_a_client_reads_every_golden_event_without_losing_anything(exchange: dict[str, Any]) -> None:
    assert codec.alignment_to_json(codec.alignment_from_json(exchange["answer"])) == exchange["answer"]


@pytest.mark.parametrize("exchange", BODIES, ids=lambda exchange: exchange["path"])
def test_a_client_writes_every_golden_body(exchange: dict[str, Any]) -> None:
    read, write = PAIRS[exchange["path"].rsplit("/", 1)[1]]
    event = read(exchange["body"])
    assert read(json.loads(json.dumps(write(event)))) == event
    assert exchange["body"].keys() <= write(event).keys()


def test_the_golden_exchanges_hold_every_route_and_every_problem_of_a_reader() -> None:
    types = {e["answer"]["type"] for e in EXCHANGES if e["status"] >= 400}
    assert types >= {f"urn:lockgate:{kind}" for kind in ("invalid-request", "reader-busy", "stale-epoch", "unknown-group")}
    assert {e["path"].rsplit("/", 1)[1] for e in EXCHANGES if e["method"] == "POST"} == {"readers", "watermarks", "progress"}
