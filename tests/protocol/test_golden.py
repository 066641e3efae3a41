"""What goes over the wire, as files. A change in them is a change of the protocol:
docs/internals/protocol.md has to say it too.
"""

import json
import re
from typing import Any

import pytest

from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import (
    PauseRequest,
    ProgressEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from lockgate.wire.split_codec import split_from_text
from lockgate.wire.split_events import SourceEventToReaders, SplitAnswer, SplitExchange, SplitList
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from protocol.golden.recording import FILE, recorded

EXCHANGES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
REMEDY = "if that is meant, `python -m tests.protocol.golden` writes it, and docs/internals/protocol.md has to say it"


async def test_the_service_answers_as_the_golden_exchanges_say() -> None:
    now = await recorded()
    for was, is_now in zip(EXCHANGES, now, strict=False):
        assert is_now == was, REMEDY
    assert len(now) == len(EXCHANGES), REMEDY


KINDS: dict[str, type[Any]] = {
    "readers": ReaderRegistrationEvent,
    "watermarks": ReportedWatermarkEvent,
    "progress": ProgressEvent,
    "pause": PauseRequest,
    "exchange": SplitExchange,
    "splits": SplitList,
    "events": SourceEventToReaders,
}
ANSWERED = [e for e in EXCHANGES if "frames" not in e]
STREAMED = [e for e in EXCHANGES if "frames" in e and "/readers/" not in e["path"]]
EVENTS = [
    e
    for e in ANSWERED
    if e["status"] < 300 and e["answer"] is not None and {"revision", "max_desired_watermark"} <= e["answer"].keys()
]
ANSWERS = [e for e in ANSWERED if e["status"] == 200 and "add_splits" in (e["answer"] or {})]
BODIES = [e for e in EXCHANGES if e["status"] < 300 and "/sources/" in e["path"] and "body" in e]


@pytest.mark.parametrize(
    ("kind", "exchange"),
    [*((WatermarkAlignmentEvent, each) for each in EVENTS), *((SplitAnswer, each) for each in ANSWERS)],
    ids=lambda value: value["path"] if isinstance(value, dict) else None,
)
def test_a_client_reads_every_golden_answer_without_losing_anything(kind: type[Any], exchange: dict[str, Any]) -> None:
    assert to_json(from_json(kind, exchange["answer"])) == exchange["answer"]


@pytest.mark.parametrize("exchange", BODIES, ids=lambda exchange: exchange["path"])
def test_a_client_writes_every_golden_body(exchange: dict[str, Any]) -> None:
    kind = exchange["path"].rsplit("/", 1)[1]
    message = KINDS["exchange" if "held" in exchange["body"] else kind]
    event = from_json(message, exchange["body"])
    assert from_json(message, json.loads(json.dumps(to_json(event)))) == event
    assert exchange["body"].keys() <= to_json(event).keys()


@pytest.mark.parametrize("exchange", STREAMED, ids=lambda exchange: str(exchange.get("request_headers")))
def test_client_reads_every_golden_frame_as_a_server_sent_event(exchange: dict[str, Any]) -> None:
    kinds, last = [], exchange.get("request_headers", {}).get("Last-Event-ID")
    for frame in exchange["frames"]:
        lines = frame.removesuffix("\n\n").split("\n")
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        if fields:
            event = json.loads(fields["data"])
            assert (fields.keys(), fields["event"], fields["id"]) == (
                {"event", "id", "data"},
                "alignment",
                str(event["revision"]),
            )
            assert to_json(from_json(WatermarkAlignmentEvent, event)) == event
        kinds.append("event" if fields else "heartbeat")
    first = "heartbeat" if f"\nid: {last}\n" in STREAMED[0]["frames"][0] else "event"
    assert kinds == [first, "heartbeat"][: len(kinds)]
    assert exchange["headers"] == {"content-type": "text/event-stream; charset=utf-8"}


def test_the_stream_of_one_reader_begins_with_every_level() -> None:
    (stream,) = (e["frames"] for e in EXCHANGES if "frames" in e and "/readers/" in e["path"])
    events = [dict(line.split(": ", 1) for line in frame.strip().split("\n")) for frame in stream[:3]]
    levels = {event["event"]: json.loads(event["data"]) for event in events}
    assert levels.keys() == {"add-splits", "is-processing-backlog", "watermark-alignment"}
    assert [split_from_text(each["split"]).split_id for each in levels["add-splits"]["splits"]] == [
        "orders-0",
        "orders-1",
    ]
    assert from_json(WatermarkAlignmentEvent, levels["watermark-alignment"]).group == "enrich"


def test_the_golden_exchanges_hold_every_route_with_every_good_status() -> None:
    paths = create_app(MemoryStore()).openapi()["paths"]
    documented = {
        (method.upper(), path, int(status))
        for path, operations in paths.items()
        for method, operation in operations.items()
        for status, answer in operation["responses"].items()
        if int(status) < 300
        # and no text
        and answer.get("content", {}).keys() <= {"application/json", "text/event-stream"}
    }
    patterns = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + r"(\?.*)?\Z") for path in paths}
    held = {
        (e["method"], path, e["status"])
        for e in EXCHANGES
        for path, pattern in patterns.items()
        if pattern.match(e["path"])
    }
    assert documented - held == set()


def test_the_golden_exchanges_hold_every_type_of_problem() -> None:
    held = {e["answer"]["type"] for e in ANSWERED if e["status"] >= 400}
    assert held == {f"urn:lockgate:{row.type}" for row in TABLE.values()} | {"about:blank"}
