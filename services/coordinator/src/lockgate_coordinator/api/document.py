"""The OpenAPI document, with the bodies, answers and problems of each route."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from lockgate.wire.fields import Json
from lockgate_coordinator.api.problems import TABLE, Problem
from lockgate_coordinator.api.schemas import NULL, SCHEMAS, TEXT, integer, record, ref

Responses = dict[int | str, dict[str, Any]]
"""The answers of a route by status code, in the form of FastAPI's argument `responses`."""

EVERYWHERE = frozenset({401, 403, 421, 429, 503})
"""The statuses that the guard and the store cause on every route below /v1."""

HEADERS: Mapping[int, tuple[str, Json]] = {
    401: ("WWW-Authenticate", TEXT),
    429: ("Retry-After", {**integer(0), "description": "seconds"}),
    503: ("Retry-After", {**integer(0), "description": "seconds"}),
}
ETAG: Json = {"ETag": {"description": "Version of the configuration, for If-Match", "schema": TEXT}}

NO_ROUTE = "NoSuchRoute"
REJECTIONS = ("invalid-request", "limit-reached", "unknown-source", "unknown-reader", "stale-epoch")


def answer(description: str, schema: str | None = None, headers: Json | None = None) -> Json:
    """Return the OpenAPI description of a successful response. `schema` names the body's schema."""
    entry: Json = {"description": description}
    if schema is not None:
        entry["content"] = {"application/json": {"schema": ref(schema)}}
    if headers is not None:
        entry["headers"] = headers
    return entry


def route(*problems: str, answers: Responses, body: str | None = None, names: bool = True) -> Json:
    """Return the arguments of a route's decorator that describe its responses and request body.

    Args:
        *problems: The types of the route's own problems. Those that all routes share are added.
        answers: The successful responses, by status.
        body: The name of the request body's schema, if there is a body. The problems of an invalid
            body are then added.
        names: Whether the path contains names, such as that of a group. If so, the router's 404
            response is added, because a name with a slash matches no route.
    """
    needed = {"invalid-request", *problems, *(() if body is None else ("not-json", "too-large"))}
    rows = [row for row in TABLE.values() if row.type in needed or row.status in EVERYWHERE]
    extra = (
        {}
        if body is None
        else {"requestBody": {"required": True, "content": {"application/json": {"schema": ref(body)}}}}
    )
    return {"responses": {**answers, **refusals(rows, *((404,) if names else ()))}, "openapi_extra": extra}


def refusals(rows: list[Problem], *router: int) -> Responses:
    """Return the OpenAPI descriptions of the problems in `rows`, by status. `router` contains the
    statuses with which the router answers if no route matches.
    """
    by_status: dict[int, list[str]] = {status: [NO_ROUTE] for status in router}
    for row in rows:
        by_status.setdefault(row.status, []).append(model(row.type))
    return {status: _refusal(status, sorted(set(models))) for status, models in sorted(by_status.items())}


def model(kind: str) -> str:
    """Return the name of a problem type's schema, such as `UnknownGroup` for `unknown-group`."""
    return "".join(word.capitalize() for word in kind.split("-"))


def install(app: FastAPI) -> None:
    """Complete the OpenAPI document of `app`.

    The schemas and the use of tokens are added. The first sentence of each description becomes the
    summary. Null is removed from the types of parameters, since no value in a URL is null.
    """
    without = app.openapi

    def with_schemas() -> dict[str, Any]:
        document = without()
        document["components"] = {
            "schemas": {**SCHEMAS, **_problems()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        # a service without tokens needs none, hence the empty alternative
        document["security"] = [{"token": []}, {}]
        for operation in (each for path in document["paths"].values() for each in path.values()):
            operation["summary"] = " ".join(operation["description"].split()).split(". ")[0].removesuffix(".")
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
            if "application/json" in operation["responses"].get("422", {}).get(
                "content", {}
            ):  # FastAPI's own: no route answers so
                del operation["responses"]["422"]
        return document

    # FastAPI's own way to extend the document
    app.openapi = with_schemas  # type: ignore[method-assign]


def _refusal(status: int, models: list[str]) -> Json:
    schemas = [ref(name) for name in models]
    entry: Json = {
        "description": " or ".join(models),
        "content": {"application/problem+json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}},
    }
    if status in HEADERS:
        name, schema = HEADERS[status]
        entry["headers"] = {name: {"required": True, "schema": schema}}
    return entry


def _problems() -> dict[str, Json]:
    found = {model(row.type): _problem(row, {"instance": TEXT}) for row in TABLE.values()}
    status = {"enum": [404, 405]}
    found[NO_ROUTE] = record(
        {"type": {"const": "about:blank"}, "title": TEXT, "status": status, "detail": TEXT, "instance": TEXT}
    )
    rejections = [_problem(row, {"index": integer(0)}) for row in TABLE.values() if row.type in REJECTIONS]
    return {**found, "Rejection": {"anyOf": rejections}}


def _problem(row: Problem, place: Json) -> Json:
    """Return the schema of a problem (RFC 9457). `place` is the schema of its `instance` or, for a
    rejected report in a batch, of its `index`.
    """
    kind, title, status = {"const": f"urn:lockgate:{row.type}"}, {"const": row.title}, {"const": row.status}
    return record({"type": kind, "title": title, "status": status, "detail": TEXT, **place, **row.members})


def _without_null(schema: Json) -> Json:
    forms = [form for form in schema.get("anyOf", ()) if form != NULL]
    return (
        {**{key: value for key, value in schema.items() if key != "anyOf"}, **forms[0]} if len(forms) == 1 else schema
    )
