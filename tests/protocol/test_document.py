"""docs/internals/protocol.md and the service name the same things."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import GroupConfig
from lockgate_coordinator.api.problems import TABLE
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from support.examples import examples
from support.messages import KINDS, drawn, spoiled

TEXT = (Path(__file__).parents[2] / "docs" / "internals/protocol.md").read_text(encoding="utf-8")


def test_text_and_service_have_the_same_routes() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    written = {
        route
        for row in rows
        if "*not there yet" not in row
        for route in re.findall(r"`((?:GET|PUT|POST|DELETE) /[^`?]*)", row.split("|")[1])
    }
    paths = create_app(MemoryStore()).openapi()["paths"]
    assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} == written


def test_every_schema_that_the_document_refers_to_is_there() -> None:
    document = create_app(MemoryStore()).openapi()
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert named - document["components"]["schemas"].keys() == set()
    assert {kind.__name__ for kind in KINDS} - document["components"]["schemas"].keys() == set()


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_of_a_message_agrees_with_its_codec(kind: type[Any]) -> None:
    components = create_app(MemoryStore()).openapi()["components"]
    schema = jsonschema_rs.validator_for({"$ref": f"#/components/schemas/{kind.__name__}", "components": components})

    @examples(100)
    @given(drawn(kind), st.data())
    def claim(message: Any, data: st.DataObject) -> None:
        whole = to_json(message)
        schema.validate(whole)
        spoilt = data.draw(st.composite(lambda draw: spoiled(draw, whole))())
        said = refusal(kind, spoilt)
        # a schema takes 1.0 for an integer, and has no rules of several fields
        beyond = ".0" in json.dumps(spoilt) or "split" in said or "report.epoch" in said
        assert not said or not schema.is_valid(spoilt) or beyond, said

    claim()


def refusal(kind: type[Any], value: object) -> str:
    try:
        from_json(kind, value)
    except InvalidMessage as error:
        return str(error)
    return ""


def test_every_type_of_problem_is_in_the_text() -> None:
    for problem in TABLE.values():
        assert f"`{problem.type}`" in TEXT or f"`urn:lockgate:{problem.type}`" in TEXT


def test_every_number_of_a_configuration_is_in_the_text_with_its_default() -> None:
    default = GroupConfig()
    for key in ("max_drift_ms", "update_interval_ms", "lease_ms"):
        assert re.search(rf"`{key}` \([^)]*default {getattr(default, key)}\)", TEXT)
