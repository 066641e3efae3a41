"""What the service says of itself in its OpenAPI document: each route with its parameters, body
and answers, and each schema with its fields.
"""

from collections.abc import Iterator
from typing import Any

from lockgate_coordinator.app import create_app
from lockgate_coordinator.store.memory import MemoryStore

Json = dict[str, Any]
USUAL = {"application/json", "application/problem+json"}
WIDE = 60
"""A pattern that is longer is left to the document itself."""


def text() -> str:
    """All routes, by path, and all schemas, by name."""
    document: Json = create_app(MemoryStore()).openapi()
    routes = (_route(method, path, one) for path, all_of in document["paths"].items() for method, one in all_of.items())
    schemas = document["components"]["schemas"]
    parts = ["## Routes", *routes, "## Schemas", *(_schema(name, schemas[name]) for name in sorted(schemas))]
    return "\n\n".join(parts) + "\n"


def _route(method: str, path: str, route: Json) -> str:
    parts = [f"### {method.upper()} {path}", " ".join((route.get("description") or "").split())]
    if given := route.get("parameters"):
        rows = (
            f"| `{each['name']}` | {each['in']} | {_kind(each['schema'])} | {_line(each.get('description', ''))} |"
            for each in given
        )
        parts.append("\n".join(["| parameter | in | | meaning |", "|---|---|---|---|", *rows]))
    if body := route.get("requestBody"):
        parts.append(f"Body: {', '.join(_contents(body))}.")
    rows = (
        f"| {status} | {_line(answer.get('description', ''))} | {', '.join(_contents(answer))} |"
        for status, answer in sorted(route["responses"].items())
    )
    parts.append("\n".join(["| status | | answer |", "|---|---|---|", *rows]))
    return "\n\n".join(filter(None, parts))


def _contents(holder: Json) -> Iterator[str]:
    for kind, content in holder.get("content", {}).items():
        shown = _kind(content.get("schema", {}))
        yield shown if shown and kind in USUAL else " as ".join(filter(None, [shown, f"`{kind}`"]))


def _schema(name: str, schema: Json) -> str:
    needed = schema.get("required", [])
    rows = [
        f"| `{field}` | {_kind(one)} | {_default(field, one, needed)} | {_line(one.get('description', ''))} |"
        for field, one in schema.get("properties", {}).items()
    ]
    table = "\n".join(["| field | | default | meaning |", "|---|---|---|---|", *rows]) if rows else _kind(schema)
    return "\n\n".join(filter(None, [f"### {name}", _line(schema.get("description", "")), table]))


def _default(name: str, schema: Json, needed: list[str]) -> str:
    if "default" in schema:
        return f"`{schema['default']!r}`"
    return "required" if name in needed else ""


def _kind(schema: Json) -> str:
    """Return a schema in a few words; another schema by its name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(_kind(each) for each in schema[several])
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    return f"{schema.get('type', '')}{_bounds(schema)}"


def _bounds(schema: Json) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high >= 2**53:
        high = None
    bounds = f" {low}–{high}" if None not in (low, high) else f" ≥ {low}" if low is not None else ""
    pattern = schema.get("pattern", "")
    return bounds + (f" `{_line(pattern)}`" if pattern and len(pattern) <= WIDE else "")


def _line(written: str) -> str:
    return " ".join(written.split()).replace("|", "\\|")
