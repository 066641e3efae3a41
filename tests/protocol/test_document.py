"""docs/internals/protocol.md and the service name the same things."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from lockgate.wire import codec
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
)
from lockgate.wire.split_events import DiscoveredSplits, SourceEventToReaders, SplitExchange
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore

TEXT = (Path(__file__).parents[2] / "docs" / "internals/protocol.md").read_text(encoding="utf-8")


def test_every_route_is_in_the_text_and_every_one_of_the_text_is_there_unless_it_says_not_yet() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    written = {
        route
        for row in rows
        if "*not there yet" not in row
        for route in re.findall(r"`((?:GET|PUT|POST|DELETE) /[^`?]*)", row.split("|")[1])
    }
    paths = create_app(MemoryStore()).openapi()["paths"]
    assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} == written


def test_the_openapi_document_describes_the_events_field_by_field() -> None:
    document = create_app(MemoryStore()).openapi()
    schemas = document["components"]["schemas"]
    report = ReportedWatermarkEvent(
        subtask=0, epoch=1, watermark=0, reach=0, batch_id=0, park_ms=1, facts=ReaderFacts()
    )
    assert schemas["ReportedWatermarkEvent"]["properties"].keys() == codec.report_to_json(report).keys()
    assert schemas["GroupConfig"]["properties"].keys() == codec.config_to_json(GroupConfig()).keys()
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert named - schemas.keys() == set()
    assert {"ReaderRegistrationEvent", "RegistrationAnswer", "ProgressEvent", "WatermarkAlignmentEvent"} <= named


def test_the_body_of_each_route_is_described_with_every_field_that_is_taken() -> None:
    document = create_app(MemoryStore()).openapi()

    def described(schema: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of an object, a reference to it resolved."""
        found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        return found

    bodies = {
        f"{method.upper()} {path}": described(operation["requestBody"]["content"]["application/json"]["schema"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" in operation
    }
    of_source = "POST /v1/groups/{group}/sources/{source}"
    of_batch = bodies.pop("POST /v1/groups/{group}/watermarks")
    batch = described(of_batch["reports"]["items"])
    assert set(of_batch) == {"reports"}
    expected = {
        "PUT /v1/groups/{group}": GroupConfig,
        f"{of_source}/readers": ReaderRegistrationEvent,
        f"{of_source}/watermarks": ReportedWatermarkEvent,
        f"{of_source}/progress": ProgressEvent,
    }
    assert set(bodies.pop(f"PUT {of_source[5:]}/pause")) == {"reason"}
    assert set(bodies.pop(f"POST {of_source[5:]}/events")) == names(SourceEventToReaders)
    assert set(bodies.pop(f"PUT {of_source[5:]}/splits")) == {"serializer_version", *names(DiscoveredSplits)} - {
        "request"
    }
    exchange = bodies.pop(f"{of_source}/readers/{{subtask}}/splits")
    assert set(exchange) == {"serializer_version", *names(SplitExchange)}
    assert {route: set(body) for route, body in bodies.items()} == {
        route: names(event) for route, event in expected.items()
    }
    assert set(batch) == {"source", *names(ReportedWatermarkEvent)}
    assert set(described(bodies[f"{of_source}/watermarks"]["splits"]["additionalProperties"])) == names(SplitReport)
    assert document["components"]["schemas"]["ReaderFacts"]["properties"].keys() == names(ReaderFacts)
    assert set(described(bodies[f"{of_source}/progress"]["splits"]["additionalProperties"])) == names(SplitProgress)


def names(event: Any) -> set[str]:
    return {field.name for field in fields(event)}


def test_every_type_of_problem_is_in_the_text() -> None:
    for problem in TABLE.values():
        assert f"`{problem.type}`" in TEXT or f"`urn:lockgate:{problem.type}`" in TEXT


def test_every_number_of_a_configuration_is_in_the_text_with_its_default() -> None:
    default = GroupConfig()
    for key in ("max_drift_ms", "update_interval_ms", "lease_ms"):
        assert re.search(rf"`{key}` \([^)]*default {getattr(default, key)}\)", TEXT)
