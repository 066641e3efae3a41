"""The OpenAPI document against the service: what it says is answered is what is answered, what it
refuses is refused, what it takes taken.

schemathesis makes the requests up from the document, and holds the answers against it. Half of them
go to a reader that is there. Where the service wants tokens, they come with one of each role, and
with none. An event stream is read up to its first event. The long run makes up many more.
"""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from protocol.golden.recording import FILE

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
EXCHANGES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
DOCUMENT = create_app(MemoryStore()).openapi()
ROUTES = [
    (method.upper(), path, mode)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    # where nothing is asked for, nothing can be wrong
    if mode is GenerationMode.POSITIVE or "{" in path
]


ROLES = ("read", "report", "admin")
TOKENS = {role: f"lockgate_{role}-0123456789abcdefghijklmnop" for role in ROLES}
GUARDED = Settings(tokens=",".join(f"{role}={token}" for role, token in TOKENS.items()))
OPEN_TO_ALL = ("/livez", "/readyz")


def bearing(role: str) -> dict[str, str]:
    """Return the headers of a request by this role; "" for none."""
    return {"Authorization": f"Bearer {TOKENS[role]}"} if role else {}


@cache
def service(guard: Settings) -> Any:
    """Return the schema of a service in this process, one for all tests: it takes 0.15 s to
    make.
    """
    app = create_app(MemoryStore(), guard)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=bearing("read"))
    schema.config.max_stream_events = 1
    return schema


def with_a_reader(schema: Any) -> int:
    """Make group g anew, with reader 0 of source s; its epoch."""
    group, readers = schema["/v1/groups/{group}"], schema["/v1/groups/{group}/sources/{source}/readers"]
    group["DELETE"].Case(path_parameters={"group": "g"}).call(headers=bearing("admin"))
    reader = readers["POST"].Case(
        path_parameters={"group": "g", "source": "s"}, body={"subtask": 0}, media_type="application/json"
    )
    return int(reader.call(headers=bearing("admin")).json()["epoch"])


SHORT_WAIT_MS = 1_000


def fuzzed(method: str, path: str, mode: GenerationMode, examples: int, guard: Settings = Settings()) -> None:  # noqa: B008 – frozen
    schema = service(guard)
    epoch = with_a_reader(schema)
    operation = schema[path][method]
    roles = st.sampled_from(("", *ROLES)) if guard.guarded else st.just("admin")

    @seed(20260101)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans(), role=roles)
    def each(case: Any, known: bool, role: str) -> None:
        if mode is GenerationMode.POSITIVE:
            case.body = _whole(_real(case.body))
            if known:
                _to_the_known_reader(case, epoch)
            if case.query and case.query.get("wait_ms", 0) > SHORT_WAIT_MS:  # the call gives up after 10 s
                case.query["wait_ms"] = SHORT_WAIT_MS
        rejects_alone = (
            method == "POST" and path == "/v1/groups/{group}/watermarks"
        )  # a bad report of a batch is rejected with 200
        excluded = [checks.negative_data_rejection] if rejects_alone else []
        response = case.call(headers=bearing(role))
        case.validate_response(response, checks=CHECKS, excluded_checks=excluded)
        if mode is GenerationMode.POSITIVE and not may(role, method, path, case.query or {}):
            assert response.status_code == (403 if role else 401), response.text
            return
        assert response.status_code not in (401, 403) or mode is GenerationMode.NEGATIVE, response.text
        either = method == "DELETE" and path.endswith(
            "/{subtask}"
        )  # it takes an epoch or force=true, which no schema can say
        if mode is GenerationMode.POSITIVE and not either:
            assert response.status_code != 422, response.text

    each()


def may(role: str, method: str, path: str, query: dict[str, Any]) -> bool:
    """Return the table of roles in docs/internals/protocol.md."""
    if role == "admin" or path in OPEN_TO_ALL:
        return True
    if method == "GET":
        return role != ""
    if path.endswith("/{subtask}"):
        return role == "report" and query.get("force") in (None, False, "false")
    return role == "report" and method == "POST"


@pytest.mark.parametrize(("method", "path", "mode"), ROUTES, ids=lambda value: getattr(value, "value", value))
def test_the_service_does_as_its_document_says(method: str, path: str, mode: GenerationMode) -> None:
    fuzzed(method, path, mode, examples=5)


@pytest.mark.parametrize(("method", "path"), dict.fromkeys(route[:2] for route in ROUTES))
def test_a_service_with_tokens_allows_each_role_what_the_protocol_says(method: str, path: str) -> None:
    fuzzed(method, path, GenerationMode.POSITIVE, examples=5, guard=GUARDED)


@pytest.mark.long
@pytest.mark.parametrize("guard", [Settings(), GUARDED], ids=["open", "guarded"])
@pytest.mark.parametrize(("method", "path", "mode"), ROUTES, ids=lambda value: getattr(value, "value", value))
def test_the_service_does_as_its_document_says_for_long(
    method: str, path: str, mode: GenerationMode, guard: Settings
) -> None:
    fuzzed(method, path, mode, examples=300, guard=guard)


def test_every_golden_answer_has_the_fields_of_its_schema_and_no_others() -> None:
    closed = _closed(DOCUMENT["components"])
    for exchange in EXCHANGES:
        operation = _operation(exchange)
        if operation is None:  # no such route
            continue
        answer = operation["responses"][str(exchange["status"])]
        if "frames" in exchange:
            assert set(answer["content"]) == {exchange["headers"]["content-type"].partition(";")[0]}
            continue
        if exchange["answer"] is None:
            assert "content" not in answer
            continue
        schema = answer["content"][exchange["headers"]["content-type"]]["schema"]
        jsonschema_rs.validator_for({**schema, "components": closed}).validate(exchange["answer"])
        assert {name.lower() for name in answer.get("headers", {})} <= exchange["headers"].keys()


def _operation(exchange: dict[str, Any]) -> dict[str, Any] | None:
    for path, operations in DOCUMENT["paths"].items():
        pattern = re.sub(r"\{\w+\}", "[^/]+", path) + r"(\?.*)?"
        if re.fullmatch(pattern, exchange["path"]) and exchange["method"].lower() in operations:
            found: dict[str, Any] = operations[exchange["method"].lower()]
            return found
    return None


def _closed(schema: Any) -> Any:
    """Return a schema that takes no field that it does not name."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    return (
        {**inner, "additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else inner
    )


def _whole(body: Any) -> Any:
    """To JSON Schema 1.0 is an integer. To the protocol it is none, and no schema can say so."""
    if isinstance(body, float) and body.is_integer():
        return int(body)
    if isinstance(body, dict):
        return {key: _whole(value) for key, value in body.items()}
    return [_whole(item) for item in body] if isinstance(body, list) else body


SPLIT = split_to_text(KafkaPartitionSplit("orders", 0, 7))
LISTS = ("held", "given_back", "finished")


def _real(body: Any) -> Any:
    """To JSON Schema any text is a split, any number one that was given out, and a report in an
    exchange may be another reader's.
    """
    if not isinstance(body, dict) or not {"held", "splits"} & body.keys() or isinstance(body.get("splits"), dict):
        return body
    named = {key: [{**each, "split": SPLIT, "assignment": 1} for each in body[key][:1]] for key in LISTS if key in body}
    found = [body, body.get("discovered") or {}]
    for each in found:
        if "splits" in each:
            each["splits"] = [SPLIT for _ in each["splits"]]
    return {
        **body,
        **named,
        **({"seen": 1} if "seen" in body else {}),
        **({"report": None} if "report" in body else {}),
    }


def _to_the_known_reader(case: Any, epoch: int) -> None:
    known = {"group": "g", "source": "s", "subtask": 0}
    case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
    if isinstance(case.body, dict) and "epoch" in case.body:
        case.body |= {"epoch": epoch} if "held" in case.body else {"subtask": 0, "epoch": epoch}
